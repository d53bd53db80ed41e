"""An environment that moves its process to another folder, as Hydra and some simulators do."""

from __future__ import annotations

import os
from typing import Any

import gymnasium
import numpy as np
from gymnasium.spaces import Box, Discrete


class Moves(gymnasium.Env[Any, Any]):
    """Three steps of reward 1. `when` it moves: at `init` or at each `reset`."""

    def __init__(self, when: str, to: str) -> None:
        self.observation_space = Box(0, 1, (1,), np.float32)
        self.action_space = Discrete(2)
        self._when, self._to = when, to
        self._steps = 0
        if when == "init":
            os.chdir(to)

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        self._steps = 0
        if self._when == "reset":
            os.chdir(self._to)
        return np.zeros(1, np.float32), {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        self._steps += 1
        return np.zeros(1, np.float32), 1.0, self._steps == 3, False, {}
