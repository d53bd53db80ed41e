"""Simulators that take turns in one environment play as if each had its own."""

from __future__ import annotations

import gc
import weakref
from typing import Any

import numpy as np
import pytest

from env_adapters.disk_cache import DiskCache
from env_adapters.metaworld import ALL_TASKS
from env_adapters.metaworld.resets import SettledStates
from env_adapters.metaworld.shared_env import Models, SharedEnvs
from env_adapters.metaworld.simulator import Simulator

pytestmark = pytest.mark.slow


def envs(models: Models) -> SharedEnvs:
    return SharedEnvs(models, SettledStates(DiskCache(None)))


def bits(frames: Any, reward: Any, success: bool) -> tuple[object, ...]:
    return frames.tobytes(), type(reward), float(reward), success


@pytest.mark.parametrize("fast", [True, False])
@pytest.mark.parametrize("task", ALL_TASKS)
def test_they_play_as_if_each_had_its_own(
    task: str, fast: bool, draw_two: Any, expert: Any, models: Models
) -> None:
    shared = envs(models)
    together = [Simulator(task, shared, fast=fast) for _ in range(2)]
    alone = [Simulator(task, envs(models), fast=fast) for _ in range(2)]
    assert together[0]._env is together[1]._env
    assert alone[0]._env is not alone[1]._env
    act, rng = expert(task), np.random.default_rng(1)
    for goals in (draw_two(task), draw_two(task)[::-1]):
        seen = []
        for one, other, goal in zip(together, alone, goals, strict=True):
            seen.append(one.start(goal, goal_visible=True))
            assert seen[-1].tobytes() == other.start(goal, goal_visible=True).tobytes()
        for _ in range(30):
            for place, (one, other) in enumerate(zip(together, alone, strict=True)):
                action = act(seen[place]) + rng.normal(scale=0.1, size=4).astype(np.float32)
                step = one.step(action)
                assert bits(*step) == bits(*other.step(action))
                assert one.steps == other.steps
                seen[place] = step[0]
        state = together[0].get_state()
        assert state.physics.tobytes() == alone[0].get_state().physics.tobytes()
        together[1].step(act(seen[1]))  # in between
        alone[1].step(act(seen[1]))
        together[0].set_state(state)
        alone[0].set_state(state)


def test_one_that_is_new_starts_from_what_was_made(models: Models, draw_two: Any) -> None:
    goal, *_ = draw_two("hammer-v3")
    shared = envs(models)
    early = Simulator("hammer-v3", shared)
    first = early.start(goal, goal_visible=True)
    for _ in range(5):
        early.step(np.ones(4, np.float32))
    late = Simulator("hammer-v3", shared)
    assert late.steps == 0
    assert late.start(goal, goal_visible=True).tobytes() == first.tobytes()
    assert early.steps == 5


def test_models_are_freed_with_the_last_simulator(draw_two: Any) -> None:
    """A model takes 21 MB, and the garbage collector may not look for minutes."""
    goal = draw_two("reach-v3")[0]
    gc.disable()
    try:
        own = Models(DiskCache(None))
        shared = envs(own)
        simulators = [Simulator(task, shared, fast=True) for task in ("reach-v3", "push-v3")]
        simulators[0].start(goal, goal_visible=True)
        kept = [weakref.ref(simulator._env) for simulator in simulators]
        kept += [weakref.ref(model) for model in own._shared.values()]
        assert len(kept) == 4
        del own, shared, simulators
        assert [each() for each in kept] == [None] * 4
    finally:
        gc.enable()
