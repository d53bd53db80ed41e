"""A VectorEnv as the environment: rows of single environments, or a sentence."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.envs.classic_control.cartpole import CartPoleVectorEnv
from gymnasium.vector import AutoresetMode, SyncVectorEnv

import reglue
from glue_server import Glue
from reglue.errors import NotAnEnvironment
from tests.error_facts import raises

COUNT = 20  # episodes


class Leaner(reglue.Agent):
    """Leans with the pole, with an error that each start draws: most fall soon."""

    def agent_init(self, spec: reglue.TaskSpec) -> None:
        self._weight = np.zeros(spec.slots)

    def agent_start(self, observations: Any, starts: Any) -> Any:
        self._weight[starts.slots] = starts.seeds % 8 / 8 - 1
        return self._act(observations, starts.slots)

    def agent_step(self, rewards: Any, observations: Any, steps: Any) -> Any:
        return self._act(observations, steps.slots)

    def _act(self, observations: Any, slots: Any) -> Any:
        seen = observations["observation"]
        lean = seen[:, 2].astype(float) + self._weight[slots] * seen[:, 3]
        return (lean > 0).astype(np.int64)


class InParts(Leaner):
    partial_turns = True


def masked(num_envs: int = 1) -> Any:
    return gym.make_vec(
        "CartPole-v1", num_envs, "sync", vector_kwargs={"autoreset_mode": AutoresetMode.DISABLED}
    )


def native(num_envs: int = 1) -> Any:
    return gym.make_vec("CartPole-v1", num_envs, "vector_entry_point")


def rows(environment: object, agent: reglue.Agent, slots: int | None = None, **more: Any) -> Any:
    result = reglue.evaluate(
        environment, agent, num_episodes=COUNT, slots=slots, seed=3, raise_faults=False, **more
    )
    assert all(each.repeatable for each in result.repeats)
    return [(each.status, each.return_, each.steps) for each in result.episodes]


@pytest.fixture(scope="module")
def truth() -> Any:
    """The rows of single environments, whose dynamics are the same function in float64."""
    return rows(masked, Leaner(), 1)


@pytest.mark.parametrize("slots", [1, 4, 8, 20])
@pytest.mark.parametrize("agent", [Leaner, InParts])
@pytest.mark.parametrize("make", [masked, native, CartPoleVectorEnv])
def test_rows_do_not_depend_on_slots_nor_on_turns(
    make: Callable[..., Any], agent: type[Leaner], slots: int, truth: Any
) -> None:
    assert rows(make, agent(), slots) == truth


def test_its_rows_are_those_of_the_named_environment(truth: Any) -> None:
    assert rows("evaluate:gymnasium:CartPole-v1", Leaner(), 4, workers=0) == truth


def with_hiccup(num_envs: int = 1) -> CartPoleVectorEnv:
    """Its 16th step raises, after all of its work; `calls` counts over all that are made."""
    env = CartPoleVectorEnv(num_envs)
    step = env.step

    def hiccup(action: Any) -> Any:
        answer = step(action)
        MaskedHiccup.calls += 1
        if MaskedHiccup.calls == 16:
            raise RuntimeError("the belt slipped")
        return answer

    env.step = hiccup  # type: ignore[method-assign]
    return env


class MaskedHiccup(SyncVectorEnv):
    calls = 0

    def __init__(self, num_envs: int = 1) -> None:
        pole = [partial(gym.make, "CartPole-v1") for _ in range(num_envs)]
        super().__init__(pole, autoreset_mode=AutoresetMode.DISABLED)

    def step(self, actions: Any) -> Any:
        answer = super().step(actions)
        MaskedHiccup.calls += 1
        if MaskedHiccup.calls == 16:
            raise RuntimeError("the belt slipped")
        return answer


@pytest.mark.parametrize("slots", [1, 4, 8, 20])
@pytest.mark.parametrize("agent", [Leaner, InParts])
@pytest.mark.parametrize("kind", [with_hiccup, MaskedHiccup])
def test_rows_are_right_after_an_exception(
    kind: Any, agent: type[Leaner], slots: int, truth: Any
) -> None:
    MaskedHiccup.calls = 0
    assert rows(kind, agent(), slots) == truth
    assert MaskedHiccup.calls > 16


def test_an_object_plays_in_its_own_slots_and_stays_open(truth: Any) -> None:
    env = masked(6)
    assert rows(env, InParts()) == truth
    assert env.reset(seed=1)[0].shape == (6, 4)
    env.close()


def test_a_program_steps_parts_of_a_batch_whose_state_can_be_put_back() -> None:
    def seen(order: list[int]) -> list[Any]:
        with Glue(environment=CartPoleVectorEnv, agent=InParts(), slots=3, seed=1) as rl:
            rl.init()
            rl.start()
            last = {}
            for _ in range(5):
                for slot in order:
                    last[slot] = rl.step(slots=[slot]).observations["observation"].tolist()
            return [last[slot] for slot in range(3)]

    assert seen([0, 1, 2]) == seen([2, 0, 1])


def same_step(num_envs: int = 1) -> Any:
    return gym.make_vec(
        "CartPole-v1", num_envs, "sync", vector_kwargs={"autoreset_mode": AutoresetMode.SAME_STEP}
    )


def test_one_that_resets_by_itself_is_not_repeatable_and_says_so() -> None:
    result = reglue.evaluate(same_step, agent=Leaner(), num_episodes=8, slots=4)
    assert [each.repeatable for each in result.repeats if each.who == "environment"] == [False]
    assert {each.status for each in result.episodes} == {"ok"}


def test_one_that_resets_in_the_next_step_is_refused() -> None:
    got = (
        "CartPole-v1, whose autoreset_mode is NEXT_STEP: it begins an episode while the others "
        "step, and their actions are not known then"
    )
    with raises(NotAnEnvironment, got=got):
        reglue.evaluate(gym.make_vec("CartPole-v1", 2, "sync"), agent=Leaner(), num_episodes=2)


class Wrong(MaskedHiccup):
    """A batch with a mistake."""

    spoil: Any

    def step(self, actions: Any) -> Any:
        return self.spoil(*super().step(actions))


class NewDtype(Wrong):
    def spoil(self, seen: Any, *rest: Any) -> Any:
        return seen.astype(np.float64), *rest


class NewShape(Wrong):
    def spoil(self, seen: Any, *rest: Any) -> Any:
        return seen[:, :3], *rest


class NoReward(Wrong):
    def spoil(self, seen: Any, rewards: Any, *rest: Any) -> Any:
        return seen, rewards * np.nan, *rest


class FewRewards(Wrong):
    def spoil(self, seen: Any, rewards: Any, *rest: Any) -> Any:
        return seen, rewards[:1], *rest


class OneFlag(Wrong):
    def spoil(self, seen: Any, rewards: Any, over: Any, *rest: Any) -> Any:
        return seen, rewards, over[:1], *rest


class ListOfFlags(Wrong):
    def spoil(self, seen: Any, rewards: Any, over: Any, *rest: Any) -> Any:
        return seen, rewards, over.tolist(), *rest


class IntegerFlags(Wrong):
    def spoil(self, seen: Any, rewards: Any, over: Any, truncated: Any, info: Any) -> Any:
        return seen, rewards, over, truncated.astype(np.int64), info


class OneNan(Wrong):
    """In row 2 alone: no other row may count."""

    def spoil(self, seen: Any, rewards: Any, *rest: Any) -> Any:
        rewards = rewards.copy()
        rewards[2] = np.nan
        return seen, rewards, *rest


class ResetsItself(Wrong):
    def spoil(self, seen: Any, rewards: Any, over: Any, truncated: Any, info: Any) -> Any:
        return seen, rewards, over, truncated, {**info, "final_obs": np.array([None] * len(over))}


class RaisesForOne(Wrong):
    def spoil(self, seen: Any, *rest: Any) -> Any:
        if seen[0, 0] > 0:
            raise RuntimeError("row 0 is stuck")
        return seen, *rest


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        (NewDtype, "got float64 of shape (4, 4), wanted float32 of shape (4, 4)"),
        (NewShape, "got float32 of shape (4, 3), wanted float32 of shape (4, 4)"),
        (NoReward, "got reward nan in slot 0, wanted a finite number"),
        (FewRewards, "rewards: got ndarray of shape (1,), wanted ndarray of shape (4,)"),
        (OneFlag, "terminated: got ndarray of shape (1,), wanted ndarray of shape (4,)"),
        (ListOfFlags, "terminated: got list of shape (4,), wanted ndarray of shape (4,)"),
        (IntegerFlags, "truncated: got dtype int64, wanted bool"),
        (OneNan, "got reward nan in slot 2, wanted a finite number"),
        (ResetsItself, "which has reset a slot by itself (final_obs)"),
        (RaisesForOne, "row 0 is stuck"),
    ],
)
def test_a_mistake_in_mid_run_is_told_and_gives_no_row(kind: type[Wrong], words: str) -> None:
    MaskedHiccup.calls = 1000
    result = reglue.evaluate(kind, Leaner(), num_episodes=4, slots=4, seed=1, raise_faults=False)
    assert {each.status for each in result.episodes} == {"environment_error"}
    assert all(words in each.detail for each in result.episodes)


class ResetsAll(MaskedHiccup):
    """Ignores the mask."""

    def reset(self, *, seed: Any = None, options: Any = None) -> Any:
        return super().reset(seed=[each or 0 for each in seed] if type(seed) is list else seed)


class Swaps(MaskedHiccup):
    """Answers in the other order."""

    def step(self, actions: Any) -> Any:
        seen, *rest, info = super().step(actions)
        return seen[::-1], *(each[::-1] for each in rest), info


@pytest.mark.parametrize(
    ("kind", "got"),
    [
        (ResetsAll, "MaskedBatch, whose env_start in slot 1 changes the episode of slot 0"),
        (Swaps, "MaskedBatch, whose slots play each other's episodes"),
    ],
)
def test_a_batch_that_mixes_its_slots_is_refused(kind: type[MaskedHiccup], got: str) -> None:
    MaskedHiccup.calls = 1000
    with raises(NotAnEnvironment, got=got):
        reglue.evaluate(kind, Leaner(), num_episodes=4, slots=4)


class EnvPoolMixin(MaskedHiccup):
    """Resets and steps by ids, and answers in another order, as EnvPool does."""

    def reset(self, ids: Any = None, *, seed: Any = None, options: Any = None) -> Any:
        if ids is None:
            return super().reset(seed=seed, options=options)
        order = ids[::-1]
        seen = np.stack([self.envs[each].reset(seed=int(each))[0] for each in order])
        return seen, {"env_id": order}

    def step(self, actions: Any, ids: Any = None) -> Any:
        order = ids[::-1]
        played = zip(order, actions[::-1], strict=True)
        rows = [self.envs[each].step(action)[:4] for each, action in played]
        seen, *earned = (np.array(column) for column in zip(*rows, strict=True))
        return self.answered(seen.astype(np.float32), *earned, {"env_id": order})

    def answered(self, *answer: Any) -> Any:
        return answer


def test_one_of_ids_plays_subsets_and_says_that_it_is_not_repeatable() -> None:
    def steps(agent: reglue.Agent) -> dict[int, int]:
        result = reglue.evaluate(EnvPoolMixin(4), agent, num_episodes=4, slots=4, seed=3)
        assert not result.repeatable
        return {each.unit: each.steps for each in result.episodes}

    MaskedHiccup.calls = 1000
    assert steps(Leaner()) == steps(InParts())
    assert len(set(steps(Leaner()).values())) > 1


class OtherRows(EnvPoolMixin):
    def answered(self, *answer: Any) -> Any:
        return *answer[:-1], {"env_id": answer[-1]["env_id"] + 1}


def test_rows_of_other_ids_are_told_and_give_no_row() -> None:
    result = reglue.evaluate(
        OtherRows(2), Leaner(), num_episodes=2, slots=2, seed=1, raise_faults=False
    )
    assert {each.status for each in result.episodes} == {"environment_error"}
    assert all("got rows of slots [" in each.detail for each in result.episodes)
