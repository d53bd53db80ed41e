"""Gymnasium's own environments, and what an episode of one gives, bit by bit."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import gymnasium
import numpy as np

from env_adapters import Cell, Suite, World
from env_adapters.gymnasium import Gymnasium
from env_adapters.gymnasium.gymnasium_world import ExactWorld
from reglue.messages.agent_messages import Phase
from reglue.rng import Rng
from reglue.spec import Array, Box

Bits: TypeAlias = tuple[str, str, bool, bool]  # observation and reward in hex, the two flags


def mujoco_ids(version: str) -> list[str]:
    """All that this Gymnasium brings of a version, as `v5`."""
    return [
        name
        for name, spec in gymnasium.registry.items()
        if str(spec.entry_point).startswith("gymnasium.envs.mujoco.")
        and name.endswith(f"-{version}")
    ]


CLASSIC_CONTROL = [
    "CartPole-v1",
    "MountainCar-v0",
    "MountainCarContinuous-v0",
    "Pendulum-v1",
    "Acrobot-v1",
]
MUJOCO = mujoco_ids("v5")
OLD_MUJOCO = [name for name in mujoco_ids("v4") if name != "Pusher-v4"]  # not with MuJoCo 3
TOY_TEXT = ["FrozenLake-v1", "CliffWalking-v1", "CliffWalkingSlippery-v1", "Taxi-v4"]
KNOWN: list[tuple[str, dict[str, Any]]] = [
    *((name, {}) for name in [*CLASSIC_CONTROL, *MUJOCO, *OLD_MUJOCO, *TOY_TEXT]),
    ("Taxi-v4", {"is_rainy": True, "fickle_passenger": True}),
    ("CartPole-v1", {"sutton_barto_reward": True, "max_episode_steps": -1}),
]
"""Ids and options of all environments that are known inside."""


def exact(suite: Gymnasium) -> ExactWorld:
    """A world of a suite that is known inside."""
    world = suite.world()
    assert isinstance(world, ExactWorld)
    return world


def cell(task: str, *, seed: int = 1, repeat: int = 4) -> Cell:
    return Cell(task, 0, seed, repeat, Phase.TRAIN)


def actions(suite: Suite, count: int, *, stretch: float = 1.0) -> list[Array]:
    """By chance; those of a Box as much larger than it is, or smaller."""
    (tensor,) = suite.spec.actions
    generator = np.random.Generator(Rng(0).bits)
    factor = stretch if isinstance(tensor.domain, Box) else 1
    return [np.asarray(factor * tensor.sample(generator), tensor.dtype) for _ in range(count)]


def run(world: World, chosen: Sequence[Array]) -> list[Bits]:
    """Take these steps, until the episode ends."""
    taken: list[Bits] = []
    for action in chosen:
        step = world.step({"action": action})
        seen = step.observation["observation"].tobytes().hex()
        taken.append((seen, step.reward.hex(), step.terminated, step.truncated))
        if step.terminated or step.truncated:
            break
    return taken
