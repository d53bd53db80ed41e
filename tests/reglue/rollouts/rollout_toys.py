"""Environments whose every frame says which it is."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from itertools import count
from typing import Any

import gymnasium
import numpy as np
from gymnasium.vector import SyncVectorEnv

from reglue.spec import Array

MODES = ("NextStep", "SameStep", "Disabled")

TERMINATES, TRUNCATES, BOTH = "terminates", "truncates", "both"


class Toy(gymnasium.Env[Array, Any]):
    """Episode k has length `lengths[k % …]` and ends as `kinds[k % …]` says; observation is
    100 k + step, reward is the step. It keeps the actions that it got.
    """

    action_space: Any = gymnasium.spaces.Discrete(1000)
    observation_space: Any = gymnasium.spaces.Box(0, 1e9, (1,), np.float32)

    def __init__(self, lengths: Sequence[int], kinds: Sequence[str] = (TERMINATES,)) -> None:
        self.lengths, self.kinds = lengths, kinds
        self.episode, self.time = -1, 0
        self.actions: list[int] = []

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Array, Any]:
        super().reset(seed=seed)
        self.episode += 1
        self.time = 0
        return self._observation(), {}

    def step(self, action: int) -> tuple[Array, float, bool, bool, Any]:
        self.actions.append(int(action))
        self.time += 1
        ends = self.time >= self.lengths[self.episode % len(self.lengths)]
        kind = self.kinds[self.episode % len(self.kinds)]
        terminated, truncated = ends and kind != TRUNCATES, ends and kind != TERMINATES
        return self._observation(), float(self.time), terminated, truncated, {}

    def _observation(self) -> Array:
        return np.array([100 * self.episode + self.time], np.float32)


class DictToy(gymnasium.Env[Any, Any]):
    """A Toy whose observation is a Dict with a Tuple in it."""

    action_space = Toy.action_space
    observation_space = gymnasium.spaces.Dict(
        goal=gymnasium.spaces.Discrete(10),
        seen=gymnasium.spaces.Tuple((Toy.observation_space, gymnasium.spaces.MultiBinary(2))),
    )

    def __init__(self, length: int) -> None:
        self.toy = Toy([length])

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Any, Any]:
        return self._observation(self.toy.reset(seed=seed)[0]), {}

    def step(self, action: int) -> tuple[Any, float, bool, bool, Any]:
        observation, *rest = self.toy.step(action)
        return self._observation(observation), *rest

    def _observation(self, seen: Array) -> Any:
        bits = np.array([self.toy.time % 2, 1], np.int8)
        return {"goal": self.toy.episode, "seen": (seen, bits)}


def toys(*lengths: int, mode: str = "NextStep", kinds: Sequence[str] = ()) -> SyncVectorEnv:
    """One environment for each length, which all its episodes have."""
    kinds = kinds or [TERMINATES] * len(lengths)
    pairs = zip(lengths, kinds, strict=True)
    return SyncVectorEnv(
        [partial(Toy, [length], [kind]) for length, kind in pairs],
        autoreset_mode=mode,
    )


def bbrl_toys(mode: str = "NextStep") -> SyncVectorEnv:
    """Those of the BBRL cases: episodes of two steps terminate, those of four are truncated."""
    return toys(2, 4, mode=mode, kinds=[TERMINATES, TRUNCATES])


class Counting:
    """A policy that acts by how often it was asked, as BBRL's actor does by the row."""

    def __init__(self, num_envs: int = 2) -> None:
        self.num_envs, self.times = num_envs, count()

    def __call__(self, observations: Array) -> Array:
        return np.full(self.num_envs, next(self.times))


class Pausing(gymnasium.vector.VectorEnv[Any, Any, Any]):
    """One environment, without an episode for two steps after its first, as may be at a glue."""

    action_space = gymnasium.spaces.MultiDiscrete([1000])
    num_envs = 1

    def __init__(self, mode: str) -> None:
        self.metadata = {"autoreset_mode": mode}
        rows = "1,2 ends,2 idle,2 idle,100,101,102 ends,200,201,202,203"
        self._rows = iter(rows.split(","))

    def reset(self, *, seed: Any = None, options: Any = None) -> tuple[Array, Any]:
        return np.zeros((1, 1), np.float32), {}

    def step(self, actions: Any) -> Any:
        number, _, says = next(self._rows).partition(" ")
        seen, info = np.array([[float(number)]], np.float32), {}
        if says == "idle":
            info["idle"] = np.array([True])
        if says == "ends" and self.metadata["autoreset_mode"] == "SameStep":
            info["final_obs"] = seen.copy()
            if number == "102":
                seen = np.array([[float(next(self._rows))]], np.float32)
        ends = np.array([says == "ends"])
        return seen, np.array([float(number) % 100]), ends, ends & False, info
