"""Environments of many slots, in each of the forms that people write."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
from gymnasium.envs.classic_control.cartpole import CartPoleVectorEnv

from env_adapters import Cell
from reglue import Discrete, TaskSpec, TensorSpec
from reglue.environments.environment import Earned, Environment
from reglue.environments.world import Step
from reglue.spec import Array, Arrays
from tests.worlds import Corridor

SPEC = TaskSpec(
    observations=(TensorSpec("observation", "float64", (1,)),),
    actions=(TensorSpec("action", "int64", (), Discrete(2)),),
    reward_range=(-1.0, 1.0),
    horizon=6,
)


class Walkers(Environment):
    """A step moves the walkers that it names; each walks for as many steps as its seed says."""

    tells_success = False
    whole_turns = False

    def __init__(self, pace: float = 1.0) -> None:
        self.pace = pace

    def env_init(self, slots: int) -> TaskSpec:
        self._at, self._left = np.zeros(slots), np.zeros(slots)
        return SPEC

    def env_start(self, cells: Mapping[int, Cell]) -> Arrays:
        at = [*cells]
        self._at[at] = [cell.seed % 8 / 8 for cell in cells.values()]
        self._left[at] = [2 + cell.seed % 3 for cell in cells.values()]
        return {"observation": self._at[at, None]}

    def env_step(self, actions: Arrays, slots: Array) -> Earned:
        self._at[slots] += self.pace * (actions["action"] - 0.5)
        self._left[slots] -= 1
        at = self._at[slots]
        return Earned(np.clip(at, -1, 1), {"observation": at[:, None]}, self._left[slots] <= 0)


class Herd(Walkers):
    """A step moves every walker."""

    whole_turns = True

    def env_step(self, actions: Arrays, slots: Array) -> Earned:
        earned = super().env_step(actions, slots)
        others = np.setdiff1d(np.arange(len(self._at)), slots)
        self._at[others] += 1
        return earned


class Noise(Walkers):
    """Draws random numbers of its own."""

    repeatable = False


class Liar(Herd):
    """Says that a step moves only the walkers that it names."""

    whole_turns = False


def herd(pace: float = 1.0) -> Herd:
    """Makes one."""
    return Herd(pace)


def poles(num_envs: int, max_episode_steps: int = 30) -> gymnasium.vector.VectorEnv:
    """Makes a batch of so many slots."""
    return CartPoleVectorEnv(num_envs=num_envs, max_episode_steps=max_episode_steps)


def noisy_poles(num_envs: int) -> gymnasium.vector.VectorEnv:
    """A batch that resets by itself, with seeds of its own."""
    return gymnasium.vector.SyncVectorEnv(
        [lambda: gymnasium.make("CartPole-v1", max_episode_steps=30)] * num_envs,
        autoreset_mode=gymnasium.vector.AutoresetMode.SAME_STEP,
    )


class Pole(gymnasium.Wrapper[Any, Any, Any, Any]):
    """A single environment of Gymnasium's."""

    def __init__(self) -> None:
        super().__init__(gymnasium.make("CartPole-v1", max_episode_steps=30))


class Hall(Corridor):
    """A suite of worlds that notes when it is made and closed, in the file that HALLS names."""

    def __init__(self, fails: bool = False) -> None:
        super().__init__(solved={"walk": [1, 0]})
        self._fails = fails
        self._note("made")

    def world(self) -> Any:
        world: Any = super().world()
        if self._fails:
            world.step = _fail
        return world

    def close(self) -> None:
        self._note("closed")

    def _note(self, what: str) -> None:
        if path := os.environ.get("HALLS"):
            with Path(path).open("a", encoding="utf-8") as file:
                file.write(f"{os.getpid()}:{id(self)} {what}\n")


def _fail(action: Arrays) -> Step:
    raise RuntimeError("the floor gave way")


def zeros(observations: Array) -> Any:
    """An agent for all but the Hall."""
    return np.zeros(len(observations), np.int64)
