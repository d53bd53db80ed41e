"""A session of one slot as an environment."""

from __future__ import annotations

import copy
import pickle
import warnings
from contextlib import AbstractContextManager, closing
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from gymnasium.vector import AutoresetMode

from glue_server import EpisodeRunner
from reglue.errors import (
    BadArgument,
    EnvironmentFault,
    NotAnEnvironment,
    NotCopied,
    OutOfOrder,
    SessionLost,
    TrainingOver,
    UsageError,
)
from reglue.gymnasium import GlueEnv, make, make_vec
from reglue.messages.agent_messages import Phase
from reglue.rollouts import collect_episodes
from tests.error_facts import raises
from tests.glue_server.rpc.proxies import proxy_to
from tests.reglue.gymnasium.walks import WALK, Pad, Played, Walk, first, glue, training

pytestmark = pytest.mark.usefixtures("tidy")


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


def starts(env: GlueEnv, *seeds: int | None) -> list[Any]:
    """First observations of episodes."""
    return [env.reset(seed=seed)[0].tolist() for seed in seeds]


def test_the_first_reset_chooses_the_training_seed() -> None:
    """A later one does not: a loop that seeds each reset would play one episode for ever."""
    with closing(make("mountain-car", training_seed=7)) as env:
        wanted = starts(env, None, None, None)
    with closing(make("mountain-car")) as env:
        assert starts(env, 7, 7, 3) == wanted
        drawn = env.np_random.random()
        env.reset(seed=3)
        assert env.np_random.random() == drawn
    with closing(make("mountain-car", training_seed=7)) as env:
        assert starts(env, 0)[0] not in wanted
    with closing(make("mountain-car")) as env:
        assert starts(env, None, 7)[0] not in wanted
    with closing(make_vec("mountain-car", num_envs=2)) as one:
        first = one.reset(seed=7)[0].tolist()
    with closing(make_vec("mountain-car", num_envs=2, training_seed=7)) as other:
        assert other.reset()[0].tolist() == first
    with closing(make_vec("mountain-car", num_envs=2)) as listed:
        assert listed.reset(seed=[7, 1])[0].tolist() == first


def test_a_copy_in_this_program_warns() -> None:
    with closing(make("mountain-car")) as env, closing(make("mountain-car")) as same:
        env.reset()
        with pytest.warns(UserWarning, match="another environment of this program"):
            same.reset()
        same.reset()
        with closing(make("mountain-car")) as other:
            other.reset(seed=1)
    with closing(make("mountain-car")) as later:
        later.reset()


def pickled(env: Any) -> Any:
    return pickle.loads(pickle.dumps(env))  # noqa: S301 - our own bytes


@pytest.mark.parametrize("how", [copy.deepcopy, pickled])
def test_a_copy_begins_anew_with_the_same_arguments(how: Any) -> None:
    with closing(make("mountain-car", seed=3)) as env:
        wanted = starts(env, None, None)
        copied = how(env)
    with closing(copied) as env:
        assert starts(env, None, None) == wanted
    with closing(make_vec("mountain-car", num_envs=2, autoreset_mode="SameStep")) as vector:
        copied = how(vector)
    with closing(copied):
        assert copied.num_envs == 2
        assert copied.metadata["autoreset_mode"] is AutoresetMode.SAME_STEP


def test_a_session_cannot_be_copied() -> None:
    with glue(training) as played, joined(played) as env, pytest.raises(NotCopied):
        pickle.dumps(env)


class Reaches(Walk):
    """Walks, and succeeds at 5."""

    def step(self, action: Any) -> Any:
        *stepped, _ = super().step(action)
        return *stepped, {"success": bool(stepped[2])}


@pytest.mark.parametrize("kind", ["multi-task:", "evaluate:", ""])
def test_success_is_told_where_it_is_judged_or_reported(kind: str) -> None:
    """By the key that Stable-Baselines3 logs."""
    with closing(make(f"{kind}{__file__}:Reaches")) as env:
        found = []
        for action, steps in ((2, 3), (1, 4)):
            env.reset()
            infos = [env.step(action)[4] for _ in range(steps)]
            assert infos[:-1] == [{}] * (steps - 1)
            found.append(infos[-1])
    assert found == [{"is_success": True}, {"is_success": False}]


@pytest.mark.parametrize("kind", ["evaluate:", ""])
def test_an_environment_that_never_reports_success_has_not_failed(kind: str) -> None:
    with closing(make(f"{kind}{__file__}:Walk")) as env:
        env.reset()
        assert [env.step(2)[4] for _ in range(3)] == [{}] * 3


# Pictures.


def test_it_draws_what_the_program_sees() -> None:
    """Also the last moment of an episode, when the next one has begun."""
    theirs: Any = gymnasium.make("CartPole-v1", render_mode="rgb_array").unwrapped
    with closing(make("cart-pole", render_mode="rgb_array")) as env, closing(theirs):
        assert env.metadata["render_modes"] == [env.render_mode] == ["rgb_array"]
        for _ in range(2):
            theirs.reset()
            theirs.state = env.reset()[0].astype(np.float64)
            over = False
            while not over:
                assert np.array_equal(env.render(), theirs.render())
                theirs.state, _, over, *_ = env.step(1)
            assert np.array_equal(env.render(), theirs.render())


def test_gymnasium_knows_how_it_draws() -> None:
    with closing(gymnasium.make("reglue/cart-pole", render_mode=None)) as env:
        assert (env.render_mode, env.unwrapped.render()) == (None, None)
    with closing(gymnasium.make("reglue/cart-pole", render_mode="rgb_array_list")) as env:
        env.reset()
        env.step(0)
        frames: Any = env.render()
        assert [frame.shape for frame in frames] == [(400, 600, 3)] * 2
    drawn: Any = gymnasium.make_vec("reglue/cart-pole", num_envs=2, render_mode="rgb_array")
    with closing(drawn) as envs:
        envs.reset()
        assert [frame.shape for frame in envs.render()] == [(400, 600, 3)] * 2


def test_what_cannot_draw_says_so() -> None:
    with pytest.raises(NotAnEnvironment):
        make("mountain-car", render_mode="rgb_array")
    with pytest.raises(BadArgument):
        make("cart-pole", render_mode="ansi")
    with pytest.raises(BadArgument):
        make("cart-pole", render_mode="rgb_array", workers=1)
    with pytest.raises(NotAnEnvironment):
        make("127.0.0.1:9", render_mode="rgb_array")
    with closing(make(WALK, render_mode="rgb_array")) as env:
        for _ in range(2):
            with pytest.raises(UsageError):
                env.render()
            env.reset()


# Mistakes, and what goes wrong.


def test_a_step_comes_after_a_reset_and_before_an_end() -> None:
    with closing(make(WALK)) as env:
        with raises(OutOfOrder, "reset()"):
            env.step(1)
        env.reset()
        for _ in range(4):
            env.step(1)
        with raises(OutOfOrder, "reset()"):
            env.step(1)


@pytest.mark.parametrize("action", [3, 1.0, None, [1], "left", np.array([1, 1])])
def test_an_action_that_does_not_fit_changes_nothing(action: Any) -> None:
    with closing(make(WALK)) as env:
        env.reset()
        with raises(BadArgument, "'action'"):
            env.step(action)
        assert env.step(1)[0].tolist() == [1.0, 1.0]


def test_there_are_no_options() -> None:
    with closing(make(WALK)) as env, raises(BadArgument, "options", ["goal"]):
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
        with raises(SessionLost, "over"):
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
        with raises(SessionLost, "that is all"):
            env.reset()


def test_an_environment_that_cannot_begin_is_told() -> None:
    for raise_faults in (True, False):
        with (
            closing(make(f"{__file__}:Stillborn", raise_faults=raise_faults)) as env,
            raises(EnvironmentFault, "no power"),
        ):
            env.reset()


class Stillborn(Walk):
    """Does not begin."""

    def reset(self, **_: Any) -> Any:
        raise RuntimeError("no power")


class Breaks(Walk):
    """Fails in its third step."""

    def step(self, action: Any) -> Any:
        stepped = super().step(action)
        if stepped[0][1] == 3:
            raise ZeroDivisionError("my physics exploded")
        return stepped


@pytest.mark.parametrize("workers", [0, 1])
def test_what_the_environment_raised_is_raised(workers: int) -> None:
    with closing(make(f"{__file__}:Breaks", workers=workers)) as env:
        env.reset()
        env.step(0), env.step(0)
        with raises(EnvironmentFault, "ZeroDivisionError: my physics") as raised:
            env.step(0)
        assert "in step" in raised.value.__notes__[0]
        with raises(SessionLost, "my physics"):
            env.step(0)


@pytest.mark.parametrize("mode", list(AutoresetMode))
def test_a_vector_raises_it_too(mode: AutoresetMode) -> None:
    """So nobody collects episodes that end where the environment failed."""
    raised = raises(EnvironmentFault, "my physics")
    with closing(make_vec(f"{__file__}:Breaks", num_envs=2, autoreset_mode=mode)) as envs, raised:
        collect_episodes(envs, lambda seen: np.zeros(2, np.int64), 4)


def test_a_program_may_go_on_where_the_environment_failed() -> None:
    with closing(make(f"{__file__}:Breaks", raise_faults=False)) as env:
        for _ in range(2):
            env.reset()
            env.step(0), env.step(0)
            _, reward, terminated, truncated, info = env.step(0)
            assert (reward, terminated, truncated, info) == (0.0, False, True, {"void": True})


def test_a_policy_may_play_all_that_is_judged() -> None:
    def judged(runner: EpisodeRunner, played: Played) -> None:
        runner.init()
        runner.freeze()
        played.outcomes += runner.play(first(2, Phase.EVALUATE), Phase.EVALUATE)
        runner.cleanup()

    with glue(judged) as played, joined(played) as env:
        env.policy = lambda seen: np.ones(len(seen), np.int64)
        with raises(TrainingOver, "that is all"):
            env.reset()
        with pytest.raises(OutOfOrder):
            make(WALK).evaluate(lambda seen: 0)
    assert [outcome.return_ for outcome in played.outcomes] == [2.0, 2.0]
