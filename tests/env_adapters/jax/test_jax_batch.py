"""Environments in JAX: one compiled call for all slots, and exact rows."""

from __future__ import annotations

import sys
from types import SimpleNamespace
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import pytest

import reglue
from env_adapters.jax.jax_batch import JaxBatch
from env_adapters.slot_checks import check_slots
from reglue.errors import EnvironmentFault, MissingExtra
from tests.env_adapters.gymnasium.test_vector_batch import InParts, Leaner
from tests.env_adapters.jax.jax_pole import Pole, Slide


def rows(environment: object, agent: object, slots: int) -> Any:
    result = reglue.evaluate(environment, agent, num_episodes=20, slots=slots, seed=3)
    assert all(each.repeatable for each in result.repeats)
    return [(each.status, each.return_, each.steps) for each in result.episodes]


class Busy(JaxBatch):
    """A call of it fails, if there is one of that number."""

    fails_at = 0
    calls = 0

    def env_step(self, actions: Any, slots: Any) -> Any:
        self.calls += 1
        if self.calls == self.fails_at:
            raise RuntimeError("the device was busy")
        return super().env_step(actions, slots)


BATCH = Busy(Pole())  # one for all: it is compiled for each number of slots


@pytest.fixture(scope="module")
def truth() -> Any:
    return rows(BATCH, Leaner(), 1)


@pytest.mark.parametrize("fails", [False, True], ids=["whole", "once_failed"])
@pytest.mark.parametrize("slots", [1, 4, 8, 20])
@pytest.mark.parametrize("agent", [Leaner, InParts])
def test_rows_do_not_depend_on_slots_turns_or_an_exception(
    agent: type[Leaner], slots: int, fails: bool, truth: Any
) -> None:
    BATCH.calls, BATCH.fails_at = 0, 20 * fails
    assert rows(BATCH, agent(), slots) == truth
    assert BATCH.calls > 20


def test_slots_leave_each_other_alone() -> None:
    check_slots(JaxBatch(Pole()), 4)
    check_slots(JaxBatch(Slide()), 4)


def test_braxs_signature_is_played() -> None:
    result = reglue.evaluate(Slide, agent="random", num_episodes=6, slots=3, seed=1)
    assert result.repeatable
    assert all(each.steps > 1 for each in result.episodes)
    assert result.title.startswith("evaluate:Slide")


def test_gymnaxs_routines_are_preferred_that_do_not_reset_by_themselves() -> None:
    class Gymnaxs(Pole):
        default_params = None

        def reset_env(self, key: Any, params: Any) -> Any:
            return super().reset(key)

        def step_env(self, key: Any, state: Any, action: Any, params: Any) -> Any:
            return super().step(key, state, action)

        def reset(self, key: Any, params: Any = None) -> Any:
            raise AssertionError

        def step(self, key: Any, state: Any, action: Any, params: Any = None) -> Any:
            raise AssertionError

    params = object()
    result = reglue.evaluate(
        lambda: (Gymnaxs(), params), agent=Leaner(), num_episodes=4, slots=2, seed=3
    )
    wanted = reglue.evaluate(Pole, agent=Leaner(), num_episodes=4, slots=2, seed=3)
    assert [e.steps for e in result.episodes] == [e.steps for e in wanted.episodes]


class Keyed(Pole):
    """Its state holds a key of JAX's own type. Counts how often its reset is traced."""

    traced = 0

    def reset(self, key: Any) -> Any:
        self.traced += 1
        seen, state = super().reset(key)
        return seen, (state, jax.random.wrap_key_data(key))

    def step(self, key: Any, state: Any, action: Any) -> Any:
        state, own = state
        seen, state, reward, done, infos = super().step(key, state, action)
        return seen, (state, own), reward, done, infos


def test_few_functions_are_compiled_whatever_begins_when() -> None:
    """Compiling one takes as long as thousands of steps."""
    keyed, batch = Keyed(), JaxBatch(Pole())
    kept = JaxBatch(keyed)
    assert rows(kept, Leaner(), 10) == rows(batch, Leaner(), 10)
    assert keyed.traced == 3  # for the shapes, for all slots and for a few of them


def test_a_time_limit_of_its_params_truncates() -> None:
    class Endless:
        action_space = Pole.action_space

        def reset(self, key: Any, params: Any) -> Any:
            state = Clock(jnp.int32(0))
            return jnp.zeros(1), state

        def step(self, key: Any, state: Any, action: Any, params: Any) -> Any:
            state = Clock(state.time + 1)
            return state.time.astype(float)[None], state, jnp.float32(1), jnp.asarray(False), {}

    limit = SimpleNamespace(max_steps_in_episode=7)
    result = reglue.evaluate(lambda: (Endless(), limit), agent="random", num_episodes=3, slots=2)
    assert [each.steps for each in result.episodes] == [7] * 3
    assert result.title.startswith("evaluate:Endless")


class Clock(NamedTuple):
    time: Any


def test_without_its_package_one_sentence_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "jax", None)
    with pytest.raises(MissingExtra, match=r"the extra jax|reglue\[jax\]"):
        reglue.evaluate(Pole, agent=Leaner(), num_episodes=1)


def test_an_observation_that_is_no_array_is_told() -> None:
    class Pair(Pole):
        def reset(self, key: Any) -> Any:
            seen, state = super().reset(key)
            return (seen, seen), state

    with pytest.raises(EnvironmentFault, match="wanted one array"):
        reglue.evaluate(Pair, agent=Leaner(), num_episodes=1)


def test_a_step_that_changes_the_observation_is_told_before_a_row() -> None:
    class Narrow(Pole):
        def step(self, key: Any, state: Any, action: Any) -> Any:
            seen, *rest = super().step(key, state, action)
            return seen[:3], *rest

    result = reglue.evaluate(
        Narrow, agent=Leaner(), num_episodes=2, slots=2, seed=3, raise_faults=False
    )
    assert {each.status for each in result.episodes} == {"crashed"}
    assert all("got shape (1, 3), wanted (1, 4)" in each.detail for each in result.episodes)


def test_an_environment_without_actions_is_told() -> None:
    class Idle(Pole):
        action_space = None  # type: ignore[assignment]

    with pytest.raises(EnvironmentFault, match="got Idle without action_space, wanted"):
        reglue.evaluate(Idle, agent=Leaner(), num_episodes=1)


def test_a_reward_that_is_nan_is_a_fault_of_its_slot() -> None:
    class Nan(Pole):
        def step(self, key: Any, state: Any, action: Any) -> Any:
            seen, state, reward, done, info = super().step(key, state, action)
            return seen, state, reward / (state[1] < 3), done, info  # inf in step 3

    result = reglue.evaluate(
        Nan, agent=Leaner(), num_episodes=4, slots=2, seed=3, raise_faults=False
    )
    assert {each.status for each in result.episodes} == {"crashed"}
