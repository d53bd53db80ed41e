"""Environments whose episodes are as long as they are told, and say who they are."""

from __future__ import annotations

from functools import partial
from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces

from env_adapters.curricula import NamedEnv, make_curriculum

by_episodes: Any = partial(make_curriculum, episodic=True)


class Scripted(gymnasium.Env[Any, Any]):
    """Number `k`: observations are [k, steps], episodes end after `length` steps. The reward
    is the action, `info` says `k` where it is told to.
    """

    def __init__(self, k: int, length: int, actions: Any = 6, width: int = 2) -> None:
        self.observation_space = spaces.Box(-np.inf, np.inf, (width,), np.float64)
        self.action_space = spaces.Discrete(actions) if isinstance(actions, int) else actions
        self.k, self.length, self.width = k, length, width
        self.closed = 0
        self.seeds: list[int | None] = []

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Any, Any]:
        super().reset(seed=seed)
        self.seeds.append(seed)
        self.t = 0
        return self._seen(), {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        self.t += 1
        return self._seen(), float(action), self.t >= self.length, False, {"k": self.k}

    def close(self) -> None:
        self.closed += 1

    def _seen(self) -> Any:
        return np.array([float(self.k), float(self.t), *[1.0] * (self.width - 2)])


def named(name: Any, length: int = 3, **more: Any) -> Any:
    """A scripted environment that is called so; "A" is number 0, "B" is 1."""
    k = ord(name) - ord("A") if isinstance(name, str) else 0
    return NamedEnv(Scripted(k, length, **more), name)


class Frames(Scripted):
    """Pictures: red is ten times the episode and the step."""

    def __init__(self, size: tuple[int, int] = (84, 84), length: int = 3) -> None:
        super().__init__(0, length)
        self.size = size
        self.observation_space = spaces.Box(0, 255, (*size, 3), np.uint8)
        self.episode = -1

    def reset(self, **more: Any) -> tuple[Any, Any]:
        self.episode += 1
        return super().reset(**more)

    def _seen(self) -> Any:
        frame = np.zeros((*self.size, 3), np.uint8)
        frame[:] = [10 * self.episode + self.t, 1, 2]
        return frame


def episodes(env: Any, count: int) -> list[tuple[Any, int]]:
    """Of each, the name and how many steps it took."""
    found = []
    for _ in range(count):
        env.reset()
        steps, over = 0, False
        while not over:
            _, _, terminated, truncated, _ = env.step(0)
            steps, over = steps + 1, terminated or truncated
        found.append((env.unwrapped.name, steps))
    return found
