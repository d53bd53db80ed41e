"""A session of one slot as an environment."""

from __future__ import annotations

import warnings
from contextlib import AbstractContextManager, closing
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

import reglue
import reglue.gymnasium
from glue_server import EpisodeRunner
from reglue.errors import (
    BadArgument,
    EnvironmentFault,
    OutOfOrder,
    SessionLost,
    TrainingOver,
    UnknownName,
    Unreachable,
    UsageError,
)
from reglue.gymnasium import GlueEnv, make, make_vec
from reglue.messages.agent import Phase
from tests.glue_server.rpc.proxies import proxy_to
from tests.reglue.gymnasium.walks import Pad, Played, Walk, first, glue, training

pytestmark = pytest.mark.usefixtures("tidy")

WALK = f"{Path(__file__).parent}/walks.py:Walk"


def joined(played: Played, **options: Any) -> AbstractContextManager[GlueEnv]:
    return closing(make(played.server.address, token=played.server.token, **options))


def checked(env: Any, **options: Any) -> None:
    """By Gymnasium's checker, which warns of infinite bounds and of what it cannot test."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*(infinity|normalized space|wrapped|a spec).*")
        check_env(env, **options)


@pytest.mark.parametrize("name", ["gymnasium:CartPole-v1", "gymnasium:FrozenLake-v1", WALK])
def test_gymnasiums_check_passes_here(name: str) -> None:
    with closing(make(name)) as env:
        checked(env)


@pytest.mark.parametrize("kind", [Walk, Pad])
def test_gymnasiums_check_passes_over_a_wire(kind: type[Any]) -> None:
    with glue(training, 1, kind) as played, joined(played) as env:
        checked(env, skip_close_check=True)  # a session has one agent
    assert set(played.statuses) <= {"agent_abandoned", "agent_error", "ok"}


def test_an_environment_is_played_as_gymnasium_plays_it() -> None:
    rng, theirs = np.random.default_rng(0), Walk()
    with closing(make(WALK)) as ours:
        for _ in range(5):
            seen, infos = ours.reset(seed=3)
            wanted, _ = theirs.reset()
            assert infos["phase"] == "train"
            over: object = False
            while not over:
                assert np.array_equal(seen, wanted)
                action = rng.integers(3)
                seen, *ours_told = ours.step(action)
                wanted, *theirs_told = theirs.step(action)
                assert ours_told == theirs_told
                over = ours_told[1] or ours_told[2]


def test_the_same_seeds_give_the_same_episodes() -> None:
    def starts(**options: Any) -> list[Any]:
        with closing(make("MT1:reach-v3", workers=0, goal_visible=True, **options)) as env:
            return [env.reset()[0][36:39].tolist() for _ in range(3)]

    assert starts(seed=1) == starts(seed=1)
    assert starts(seed=1) != starts(seed=2)
    assert starts(training_seed=1) != starts(training_seed=2)


def test_reset_seeds_the_programs_side_alone() -> None:
    with closing(make(WALK)) as env:
        env.reset(seed=7)
        drawn = env.np_random.random()
        env.reset(seed=7)
        assert env.np_random.random() == drawn


def test_gymnasium_makes_them_by_their_ids() -> None:
    with closing(gymnasium.make("reglue/cart-pole")) as env:
        assert isinstance(env.unwrapped, GlueEnv)
        env.reset()
        env.step(env.action_space.sample())
    made: Any = gymnasium.make_vec("reglue/mountain-car", num_envs=3, autoreset_mode="SameStep")
    with closing(made) as envs:
        envs.reset()
        assert envs.step(np.zeros(3, np.int64))[1].tolist() == [-1.0, -1.0, -1.0]
    assert "reglue/MT1:reach-v3" in gymnasium.registry


def test_the_root_package_has_both_names() -> None:
    assert reglue.make is make
    assert reglue.make_vec is make_vec


def test_a_benchmark_has_a_slot_for_each_task_by_default() -> None:
    with closing(make_vec("mountain-car")) as envs:
        assert envs.num_envs == 1


# Mistakes, and what goes wrong.


def test_a_step_comes_after_a_reset_and_before_an_end() -> None:
    with closing(make(WALK)) as env:
        with pytest.raises(OutOfOrder, match=r"reset\(\) first"):
            env.step(1)
        env.reset()
        for _ in range(4):
            env.step(1)
        with pytest.raises(OutOfOrder, match=r"reset\(\) first"):
            env.step(1)


@pytest.mark.parametrize("action", [3, 1.0, None, [1], "left", np.array([1, 1])])
def test_an_action_that_does_not_fit_changes_nothing(action: Any) -> None:
    with closing(make(WALK)) as env:
        env.reset()
        with pytest.raises(BadArgument, match="wanted"):
            env.step(action)
        assert env.step(1)[0].tolist() == [1.0, 1.0]


def test_there_are_no_options() -> None:
    with closing(make(WALK)) as env, pytest.raises(BadArgument, match="wanted none"):
        env.reset(options={"goal": 1})


def test_elements_that_start_elsewhere_are_chosen_from_0(tmp_path: Path) -> None:
    (tmp_path / "shifted.py").write_text(
        "import gymnasium\n"
        "class Shifted(gymnasium.Env):\n"
        "    observation_space = gymnasium.spaces.MultiDiscrete([2, 3], start=[1, 4])\n"
        "    action_space = observation_space\n"
        "    def reset(self, *, seed=None, options=None):\n"
        "        return self.action_space.start, {}\n"
        "    def step(self, action):\n"
        "        assert self.action_space.contains(action)\n"
        "        return action, float(10 * action[0] + action[1]), False, False, {}\n"
    )
    with closing(make(f"{tmp_path}/shifted.py:Shifted")) as env:
        places = gymnasium.spaces.MultiDiscrete([2, 3])
        assert (env.observation_space, env.action_space) == (places, places)
        assert env.reset()[0].tolist() == [0, 0]
        seen, reward, *_ = env.step(np.array([1, 2]))
        assert (seen.tolist(), reward) == ([1, 2], 26.0)


def test_a_space_that_is_refused_is_all_that_is_said(tmp_path: Path) -> None:
    (tmp_path / "growing.py").write_text(
        "import gymnasium\n"
        "class Growing(gymnasium.Env):\n"
        "    observation_space = gymnasium.spaces.Sequence(gymnasium.spaces.Discrete(2))\n"
        "    action_space = gymnasium.spaces.Discrete(2)\n"
    )
    with pytest.raises(BadArgument, match="has no tensor") as refused:
        make(f"{tmp_path}/growing.py:Growing")
    assert refused.value.__context__ is None


def test_a_name_or_an_address_is_wanted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("REGLUE_ADDRESS", raising=False)
    with pytest.raises(UsageError, match="got no address and no benchmark"):
        make()
    with pytest.raises(UnknownName, match="MT10"):
        make("MT11")
    with pytest.raises(UsageError, match="waits for an environment"):
        make("online:wait")
    for count in (0, "3"):
        with pytest.raises(BadArgument, match="wanted an integer of 1 or more"):
            make_vec(WALK, num_envs=count)  # type: ignore[arg-type]
    with pytest.raises(BadArgument, match="got 3, wanted an address"):
        make(3)  # type: ignore[arg-type]
    with pytest.raises(UnknownName, match="option of a session 'tokem'; did you mean token"):
        make("127.0.0.1:9", tokem="x")
    with pytest.raises(UnknownName, match="setting 'sed'; did you mean seed"):
        make("mountain-car", sed=1)
    with pytest.raises(BadArgument, match="'NextStep', 'SameStep', 'Disabled'"):
        make_vec(WALK, autoreset_mode="same")  # type: ignore[arg-type]
    with pytest.raises(Unreachable):
        make("127.0.0.1:9", connect_timeout_s=0.1)


def test_a_session_of_another_benchmark_is_refused() -> None:
    with glue(training) as played:
        server = played.server
        with pytest.raises(UsageError, match="whose observations are observation float32"):
            make(server.address, "mountain-car", token=server.token)
    assert "the program has left" in str(played.error)


def test_the_address_may_come_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    with glue(training) as played:
        monkeypatch.setenv("REGLUE_ADDRESS", played.server.address)
        monkeypatch.setenv("REGLUE_TOKEN", played.server.token)
        with closing(make(benchmark=WALK)) as env:
            env.reset()
            assert env.spec is not None
            assert played.server.token not in repr(env.spec)
    assert played.error is not None


@pytest.mark.parametrize("transport", ["grpc", "unix"])
def test_a_connection_that_breaks_is_made_again(transport: Any) -> None:
    """And no step is taken twice."""
    with glue(training, reconnect_window_s=20.0) as played, proxy_to(played.server) as way:
        token = played.server.token
        with closing(
            make(
                way.address if transport == "grpc" else played.server.address,
                token=token,
                transport=transport,
            )
        ) as env:
            env.reset()
            for step in range(1, 5):
                way.cut()
                assert env.step(1)[0].tolist() == [step, step]


def test_a_glue_that_is_gone_is_told() -> None:
    with glue(training) as played, joined(played, transport="grpc") as env:
        env.reset()
        played.server.close()
        with pytest.raises(SessionLost):
            env.step(0), env.step(0)
        with pytest.raises(SessionLost, match="the session is over"):
            env.step(0)


def test_the_glues_farewell_in_mid_training_is_told() -> None:
    def short(runner: EpisodeRunner, played: Played) -> None:
        runner.init()
        played.outcomes += runner.play(first(1), Phase.TRAIN)

    with glue(short) as played, joined(played) as env:
        env.reset()
        for _ in range(4):
            *_, truncated, _ = env.step(1)
        assert truncated
        with pytest.raises(SessionLost, match="that is all"):
            env.reset()


def test_an_environment_that_cannot_begin_is_told() -> None:
    with closing(make(f"{__file__}:Stillborn")) as env, pytest.raises(EnvironmentFault, match="no"):
        env.reset()


class Stillborn(Walk):
    """Does not begin."""

    def reset(self, **_: Any) -> Any:
        raise RuntimeError("no power")


def test_a_policy_may_play_all_that_is_judged() -> None:
    def judged(runner: EpisodeRunner, played: Played) -> None:
        runner.init()
        runner.freeze()
        played.outcomes += runner.play(first(2, Phase.EVALUATE), Phase.EVALUATE)
        runner.cleanup()

    with glue(judged) as played, joined(played) as env:
        env.policy = lambda seen: np.ones(len(seen), np.int64)
        with pytest.raises(TrainingOver, match="that is all"):
            env.reset()
        with pytest.raises(OutOfOrder):
            make(WALK).evaluate(lambda seen: 0)
    assert [outcome.return_ for outcome in played.outcomes] == [2.0, 2.0]
