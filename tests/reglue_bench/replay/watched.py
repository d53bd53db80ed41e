"""Worlds that have changed since their run, or draw, or do not."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import gymnasium
import numpy as np

from env_adapters import Step
from env_adapters.gymnasium import Gymnasium
from reglue.spec import Arrays
from tests.worlds import Corridor, Walk


class Dear(Corridor):
    """A corridor that from some step of an episode charges more."""

    def __init__(self, *, from_step: int) -> None:
        super().__init__(solved={"walk": [0]})
        self.from_step = from_step

    def world(self) -> Charging:
        return Charging(self)


class Charging(Walk):
    def step(self, action: Arrays) -> Step:
        taken = super().step(action)
        corridor: Dear = self._corridor  # type: ignore[assignment]
        if self._steps < corridor.from_step:
            return taken
        return replace(taken, reward=taken.reward - 1.0)


class Unmade(Corridor):
    """A corridor of which there is none here."""

    def __init__(self) -> None:
        super().__init__(solved={"walk": [0]})

    def world(self) -> Walk:
        raise RuntimeError("no display")


class Drawn(Gymnasium):
    """A suite of one's own that says that it takes the keyword."""

    def __init__(self, *, render_mode: str | None = None) -> None:
        super().__init__("Reglue/Arcade-v0", render_mode=render_mode)


class Undrawn(gymnasium.Env[Any, Any]):
    """Takes no render_mode, and has no pictures."""

    observation_space = gymnasium.spaces.Box(0.0, 1.0, (2,))
    action_space = gymnasium.spaces.Discrete(2)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        return np.zeros(2, np.float32), {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        return np.zeros(2, np.float32), 0.0, True, False, {}
