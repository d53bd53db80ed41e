"""Gymnasium's vector environments over the light environment; the agent is in their process."""

from __future__ import annotations

import sys
import time
from typing import Any

import gymnasium
import numpy as np
from gymnasium.vector import AsyncVectorEnv, SyncVectorEnv

from speed.launches import serve
from speed.light import NUMBERS, Light


class Single(gymnasium.Env[Any, Any]):
    """The light environment as Gymnasium has it."""

    observation_space = gymnasium.spaces.Box(-np.inf, np.inf, (NUMBERS,), np.float64)
    action_space = gymnasium.spaces.Discrete(2)

    def __init__(self) -> None:
        self._light = Light()

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Begin again."""
        return self._light.reset(), {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Take a step."""
        reward, seen = self._light.step(int(action))
        return seen, reward, False, False, {}


def main(kind: str, count: int) -> None:
    """`kind` is sync or async."""
    make: type[SyncVectorEnv | AsyncVectorEnv] = SyncVectorEnv if kind == "sync" else AsyncVectorEnv
    environments = make([Single] * count)

    def measure(steps: int) -> dict[str, float]:
        """Seconds for so many steps of all."""
        environments.reset()
        began = time.perf_counter()
        for _ in range(steps):
            environments.step(np.zeros(count, np.int64))
        return {"seconds": time.perf_counter() - began, "steps": steps * count}

    serve(measure)
    environments.close()


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
