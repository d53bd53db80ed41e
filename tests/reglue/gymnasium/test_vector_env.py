"""A session's slots as a vector environment, beside Gymnasium's own."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, closing, contextmanager
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.vector import AutoresetMode, SyncVectorEnv

from glue_server import EpisodeRunner
from reglue.errors import (
    BadArgument,
    NotAnAgent,
    OutOfOrder,
    SessionLost,
    TrainingOver,
    UsageError,
)
from reglue.gymnasium import GlueVectorEnv, make_vec
from reglue.messages.agent_messages import Phase
from tests.error_facts import raises
from tests.reglue.gymnasium.walks import WALK, Pad, Played, Walk, first, glue, training

pytestmark = pytest.mark.usefixtures("tidy")

SLOTS = 5
MODES = list(AutoresetMode)

Place = Callable[..., AbstractContextManager[GlueVectorEnv]]


@contextmanager
def here(mode: AutoresetMode, slots: int = SLOTS) -> Iterator[GlueVectorEnv]:
    """Played in this process."""
    with closing(make_vec(WALK, num_envs=slots, autoreset_mode=mode)) as envs:
        yield envs


@contextmanager
def there(mode: AutoresetMode, slots: int = SLOTS) -> Iterator[GlueVectorEnv]:
    """Played by a glue."""
    with glue(training, slots) as played, joined(played, autoreset_mode=mode) as envs:
        yield envs


def joined(played: Played, **options: Any) -> AbstractContextManager[GlueVectorEnv]:
    server = played.server
    return closing(make_vec(server.address, token=server.token, **options))


def same(got: Any, wanted: Any) -> None:
    """A step's or reset's arrays, and what `infos` says of last observations."""
    *arrays, infos = got
    *expected, told = wanted
    for one, other in zip(arrays, expected, strict=True):
        assert one.dtype == other.dtype
        assert one.tolist() == other.tolist()
    assert ("final_obs" in infos) == ("final_obs" in told)
    if "final_obs" in told:
        assert infos["_final_obs"].tolist() == told["_final_obs"].tolist()
        assert infos["_final_info"].tolist() == told["_final_info"].tolist()
        for one, other in zip(infos["final_obs"], told["final_obs"], strict=True):
            assert np.array_equal(one, other)


@pytest.mark.parametrize("place", [here, there])
@pytest.mark.parametrize("mode", MODES, ids=lambda mode: mode.name)
def test_each_autoreset_mode_is_gymnasiums(place: Place, mode: AutoresetMode) -> None:
    """Resets of all, of some in mid-episode, and of those whose episode is over."""
    rng = np.random.default_rng(0)
    theirs = SyncVectorEnv([Walk] * SLOTS, autoreset_mode=mode)
    with place(mode) as ours:
        assert ours.observation_space == theirs.observation_space
        assert ours.action_space == theirs.action_space
        assert ours.metadata["autoreset_mode"] is mode
        same(ours.reset(seed=1), theirs.reset(seed=1))
        over = np.zeros(SLOTS, np.bool_)
        for step in range(120):
            if step % 17 == 16:
                same(ours.reset(), theirs.reset())
                over[:] = False
            elif step % 5 == 4:
                mask = over | (rng.random(SLOTS) < 0.3)
                mask[rng.integers(SLOTS)] = True
                given = [{"reset_mask": mask.copy()} for _ in range(2)]
                same(ours.reset(options=given[0]), theirs.reset(options=given[1]))
                over &= ~mask
            if mode is AutoresetMode.DISABLED and over.any():
                given = [{"reset_mask": over.copy()} for _ in range(2)]
                same(ours.reset(options=given[0]), theirs.reset(options=given[1]))
            actions = rng.integers(0, 3, SLOTS)
            got, wanted = ours.step(actions), theirs.step(actions)
            same(got, wanted)
            over = wanted[2] | wanted[3]


def test_what_is_played_here_is_what_a_glue_plays() -> None:
    """Episode by episode: the seeds that the program is told differ, as they are the glue's."""
    rng = np.random.default_rng(0)
    with here(AutoresetMode.SAME_STEP) as one, there(AutoresetMode.SAME_STEP) as other:
        same(one.reset(), other.reset())
        for _ in range(30):
            actions = rng.integers(0, 3, SLOTS)
            same(one.step(actions), other.step(actions))


@pytest.mark.parametrize("place", [here, there])
def test_arrays_are_the_programs_own(place: Place) -> None:
    """Whatever it does to them."""
    with place(AutoresetMode.NEXT_STEP) as ours:
        theirs = SyncVectorEnv([Walk] * SLOTS)
        ours.reset(), theirs.reset()
        for _ in range(12):
            got, wanted = (each.step(np.ones(SLOTS, np.int64)) for each in (ours, theirs))
            same(got, wanted)
            for array in got[:4]:
                assert array.flags.writeable
                array[:] = 1


def test_phase_and_seeds_are_told() -> None:
    """Not in infos: TorchRL wants the same keys in all of them."""
    with there(AutoresetMode.SAME_STEP, 2) as envs:
        _, infos = envs.reset()
        assert infos == {}
        assert envs.phase is Phase.TRAIN
        assert envs.start_seeds.tolist() == [1000, 1001]
        *_, infos = envs.step(np.zeros(2, np.int64))
        assert infos == {}


def test_clipped_actions_and_failed_environments_are_told() -> None:
    """An action out of its box is played as the environment clips it."""
    with glue(training, 2, Fragile) as played, joined(played, autoreset_mode="Disabled") as envs:
        envs.reset()
        *_, infos = envs.step(np.array([[0.5], [3.0]], np.float32))
        assert infos["clipped"].tolist() == infos["_clipped"].tolist() == [False, True]
        _, rewards, terminated, truncated, infos = envs.step(np.array([[-0.5], [0.0]], np.float32))
        assert (terminated.tolist(), truncated.tolist()) == ([False, False], [True, False])
        assert infos["void"].tolist() == [True, False]
        assert rewards[0] == 0.0


class Fragile(gymnasium.Env[Any, Any]):
    """Breaks when it is pulled."""

    observation_space = gymnasium.spaces.Box(0.0, 1.0, (1,), np.float32)
    action_space = gymnasium.spaces.Box(-1.0, 1.0, (1,), np.float32)

    def reset(self, **_: Any) -> Any:
        return np.ones(1, np.float32), {}

    def step(self, action: Any) -> Any:
        if action[0] < 0:
            raise RuntimeError("torn")
        return np.ones(1, np.float32), 1.0, False, False, {}


def test_several_tensors_are_dicts() -> None:
    with glue(training, 2, Pad) as played, joined(played) as envs:
        space: Any = envs.single_observation_space
        assert set(space.spaces) == {"camera/left", "touch"}
        envs.reset()
        actions = envs.action_space.sample()
        seen, rewards, *_ = envs.step(actions)
        assert seen in envs.observation_space
        assert seen["camera/left"][:, 0, 0].tolist() == (actions["grip"] + 1).tolist()
        assert np.allclose(rewards, actions["push"].sum(axis=1))


# Slots for which the glue has no more episodes, and phases.


def two_phases(runner: EpisodeRunner, played: Played) -> None:
    """Three episodes in two slots while it trains, then three that are judged."""
    runner.init()
    played.outcomes += runner.play(first(3), Phase.TRAIN)
    runner.freeze()
    played.outcomes += runner.play(first(3, Phase.EVALUATE), Phase.EVALUATE)
    runner.cleanup()


def in_between(runner: EpisodeRunner, played: Played) -> None:
    """Training, a frozen look in between, and training again."""
    runner.init()
    for _ in range(2):
        played.outcomes += runner.play(first(2), Phase.TRAIN)
        played.outcomes += runner.play(first(2, Phase.EVALUATE), Phase.EVALUATE)
    runner.cleanup()


ONES = np.ones(2, np.int64)


def over(envs: GlueVectorEnv, steps: list[Any] | None = None) -> str:
    """Step until the program cannot; the words of the error."""
    for _ in range(100):
        try:
            step = envs.step(ONES[: envs.num_envs])
        except TrainingOver as error:
            return str(error)
        if steps is not None:
            steps.append(step)
    raise AssertionError("training does not end")


@pytest.mark.parametrize("mode", MODES[:2], ids=lambda mode: mode.name)
def test_a_slot_without_episodes_idles_until_all_are_over(mode: AutoresetMode) -> None:
    with glue(two_phases, 2) as played, joined(played, autoreset_mode=mode) as envs:
        envs.reset()
        steps: list[Any] = []
        assert "evaluate(policy)" in over(envs, steps)
        ends = sum(int((terminated | truncated).sum()) for *_, terminated, truncated, _ in steps)
        idle = [infos["idle"].tolist() for *_, infos in steps if "idle" in infos]
        for seen, rewards, *_, infos in steps:
            if "idle" in infos:
                assert rewards[infos["idle"]].tolist() == [0.0]
                assert seen[1].tolist() == [4.0, 4.0]
        assert ends == 3
        assert [False, True] in idle
        assert "that is all" in str(envs.evaluate(still))
    assert played.statuses == ["ok"] * 6


def still(seen: Any) -> Any:
    return np.zeros(len(seen), np.int64)


def test_a_policy_plays_what_is_judged_in_between() -> None:
    asked = []

    def policy(seen: Any) -> Any:
        asked.append(len(seen))
        return still(seen)

    with glue(in_between, 2) as played, joined(played) as envs:
        envs.policy = policy
        envs.reset()
        assert "that is all" in over(envs)
        assert asked == [2] * 8
    assert [outcome.return_ for outcome in played.outcomes] == [2.0, 2.0, -2.0, -2.0] * 2


def test_evaluate_goes_back_to_training() -> None:
    with glue(in_between, 2) as played, joined(played) as envs:
        for last in (False, True):
            envs.reset()
            assert "judges it in between" in over(envs)
            reason = envs.evaluate(still)
            assert (reason is not None) == last
        with raises(TrainingOver, "that is all"):
            envs.reset()
    assert played.statuses == ["ok"] * 8


def test_a_model_of_other_spaces_is_refused_before_it_plays() -> None:
    class Model:
        action_space = gymnasium.spaces.Discrete(7)

        def predict(
            self, observation: Any, state: Any, episode_start: Any, deterministic: Any
        ) -> Any:
            raise AssertionError("it is not asked")

    with glue(two_phases, 2) as played, joined(played) as envs:
        envs.reset()
        over(envs)
        with raises(NotAnAgent, "action", Model.action_space):
            envs.evaluate(Model())
        assert "that is all" in str(envs.evaluate(still))


def test_a_policy_that_fails_ends_the_session_as_an_agent_that_fails() -> None:
    with glue(two_phases, 2) as played, joined(played) as envs:
        envs.reset()
        over(envs)
        with pytest.raises(ZeroDivisionError):
            envs.evaluate(lambda seen: 1 / 0)
        with raises(SessionLost, "policy"):
            envs.step(ONES)
    assert "ZeroDivisionError" in str(played.error)


def test_an_episode_that_is_judged_and_reset_is_forfeit() -> None:
    """But not one in which nothing was done."""

    def judged(runner: EpisodeRunner, played: Played) -> None:
        runner.init()
        runner.freeze()
        played.outcomes += runner.play(first(3, Phase.EVALUATE), Phase.EVALUATE)
        runner.cleanup()

    with glue(judged, 1) as played, joined(played, autoreset_mode="SameStep") as envs:
        for _ in range(3):
            envs.reset()
            assert envs.start_seeds.tolist() == [1000]
        envs.step(ONES[:1])
        envs.reset()
        assert (envs.start_seeds.tolist(), envs.phase) == ([1001], Phase.EVALUATE)
        over(envs)
    assert played.statuses == ["agent_abandoned", "ok", "ok"]


def test_a_run_that_begins_anew_is_told() -> None:
    def runs(runner: EpisodeRunner, played: Played) -> None:
        for _ in range(2):
            runner.init()
            played.outcomes += runner.play(first(1), Phase.TRAIN)
            runner.cleanup()

    with glue(runs, 1) as played, joined(played) as envs:
        for words in ("begins another", "that is all"):
            envs.reset()
            assert words in over(envs)
    assert played.statuses == ["ok", "ok"]


# Mistakes.


@pytest.mark.parametrize(
    ("actions", "named"),
    [
        (np.ones(3, np.int64), ["(3,)", "(2,)"]),
        (np.ones(2), ["float64", "int64"]),
        (np.array([0, 3]), ["array([0, 3])", "Discrete"]),
        ([[0], [0, 1]], []),
        (["a", "b"], ["int64"]),
        (None, []),
        ({"push": ONES}, ["'push'", "['action']"]),
    ],
)
def test_actions_that_do_not_fit_change_nothing(actions: Any, named: list[str]) -> None:
    with here(AutoresetMode.NEXT_STEP, 2) as envs:
        envs.reset()
        with raises(BadArgument, "action", *named):
            envs.step(actions)
        seen, *_ = envs.step(ONES)
        assert seen.tolist() == [[1.0, 1.0], [1.0, 1.0]]


def test_a_number_that_is_not_finite_is_refused() -> None:
    with closing(make_vec("gymnasium:Pendulum-v1", num_envs=2)) as envs:
        envs.reset()
        with raises(BadArgument, "'action'", "finite"):
            envs.step(np.array([[np.nan], [0.0]], np.float32))


def test_a_step_comes_after_a_reset() -> None:
    with here(AutoresetMode.NEXT_STEP, 2) as envs, raises(OutOfOrder, "reset()"):
        envs.step(ONES)


def test_with_autoreset_disabled_an_episode_that_is_over_has_to_be_reset() -> None:
    with here(AutoresetMode.DISABLED, 2) as envs:
        envs.reset()
        for _ in range(4):
            envs.step(np.array([2, 1]) * 0 + 1)
        with raises(OutOfOrder, "environments [0, 1]"):
            envs.step(ONES)


@pytest.mark.parametrize(
    "options",
    [
        {"reset_mask": [True, False]},
        {"reset_mask": np.zeros(2, np.bool_)},
        {"reset_mask": np.ones(3, np.bool_)},
        {"reset_mask": np.ones(2)},
        {"goal": 3},
    ],
)
def test_options_that_do_not_fit_are_refused(options: dict[str, Any]) -> None:
    with here(AutoresetMode.DISABLED, 2) as envs:
        envs.reset()
        with raises(BadArgument, "reset_mask"):
            envs.reset(options=options)


def test_a_closed_environment_says_so() -> None:
    with here(AutoresetMode.NEXT_STEP, 2) as envs:
        envs.reset()
        envs.step(ONES)
        envs.close()
        envs.close()
        with raises(SessionLost, "closed"):
            envs.step(ONES)


def test_a_session_of_other_slots_is_refused() -> None:
    with glue(training, 2) as played, raises(UsageError, "2 slots", 3, settings={"slots"}):
        joined(played, num_envs=3)


def test_a_program_that_leaves_is_heard() -> None:
    with glue(training, 2) as played, joined(played) as envs:
        envs.reset()
    assert "the program has left" in str(played.error)
