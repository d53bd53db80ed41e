"""The length of episodes: the declared horizon, and the real one."""

from __future__ import annotations

from contextlib import closing
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from env_adapters.gymnasium import Gymnasium
from env_adapters.gymnasium.task_spec import _steps_until
from reglue.messages.agent_messages import Phase
from reglue.messages.environment_messages import Cell
from tests.env_adapters import dm_control

PONG = "ALE/Pong-v5"
ARCADE = "env_adapters.arcade:Reglue/Arcade-v0"
LENGTH = "max_episode_length"


def steps_of(name: str, options: dict[str, Any]) -> tuple[int, int]:
    """A suite's horizon, and the steps of an episode without a move until it is truncated."""
    suite = Gymnasium(name, **options)
    (action,) = suite.spec.actions
    with closing(suite.world()) as world:
        world.start(Cell(name, 0, 1, 0, Phase.TRAIN))
        for taken in range(1, 5000):
            step = world.step({action.name: np.zeros(action.shape, action.dtype)})
            if step.terminated or step.truncated:
                assert step.truncated
                return suite.spec.horizon, taken
    raise AssertionError("it did not end")


@pytest.mark.parametrize(
    ("name", "options", "steps"),
    [
        (PONG, {"max_num_frames_per_episode": 102}, 26),  # four frames a step
        (PONG, {"max_num_frames_per_episode": 100, "frameskip": 7}, 15),
        (PONG, {"max_num_frames_per_episode": 100, "max_episode_steps": 9}, 9),
        pytest.param("dm_control/cartpole-balance-v0", {}, 1000, marks=dm_control.INSTALLED),
        pytest.param("dm_control/reach_site_features-v0", {}, 250, marks=dm_control.INSTALLED),
        ("MountainCar-v0", {}, 200),
        (ARCADE, {"config": {"meta": {LENGTH: 30}}}, 30),
    ],
)
def test_an_episode_is_truncated_when_it_is_said_to_be(
    name: str, options: dict[str, Any], steps: int
) -> None:
    assert steps_of(name, options) == (steps, steps)


def test_where_chance_skips_frames_an_episode_may_be_shorter() -> None:
    said, taken = steps_of(PONG, {"max_num_frames_per_episode": 100, "frameskip": (2, 5)})
    assert taken <= said == 50


@pytest.mark.parametrize(
    ("name", "options"),
    [
        (PONG, {"max_num_frames_per_episode": 0}),
        pytest.param("dm_control/lqr-lqr_2_1-v0", {}, marks=dm_control.INSTALLED),
        (ARCADE, {"config": {"meta": {LENGTH: {"distribution": "uniform", "low": 1, "high": 9}}}}),
    ],
)
def test_where_nobody_knows_it_there_is_no_horizon(name: str, options: dict[str, Any]) -> None:
    assert Gymnasium(name, **options).spec.horizon == 0


def test_atari_is_cut_off_after_half_an_hour() -> None:
    assert Gymnasium(PONG).spec.horizon == 27_000


@pytest.mark.parametrize(
    ("seconds", "tick", "ticks", "steps"), [(10, 0.002, 20, 250), (30, 0.005, 6, 1001)]
)
def test_a_clock_that_adds_up_ticks_may_be_late(
    seconds: float, tick: float, ticks: int, steps: int
) -> None:
    task = SimpleNamespace(physics_timestep=tick, physics_steps_per_control_step=ticks)
    now, taken = 0.0, 0
    while now < seconds:
        taken += 1
        for _ in range(ticks):
            now += tick
    assert _steps_until(seconds, task) == taken == steps
