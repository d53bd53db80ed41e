"""An environment whose observations and actions are several tensors of many kinds."""

from __future__ import annotations

import numpy as np

from env_adapters import Cell, Step
from reglue.spec import Array, Arrays, Box, Discrete, MultiBinary, TaskSpec, TensorSpec

_STEPS = 4


class Kitchen:
    """Four steps; the picture is as bright as steps were taken."""

    def __init__(self, solved: object = None) -> None:
        self.variants = {"walk": 1}
        self.standardizes = True
        self.spec = TaskSpec(
            observations=(
                TensorSpec("robot/arm", "float32", (3,)),
                TensorSpec("picture", "uint8", (40, 40, 3), Box((0,), (255,))),
                TensorSpec("robot/hand", "float64", (), Box((-1.0,), (9.0,))),
                TensorSpec("lamps", "int8", (4,), MultiBinary()),
            ),
            actions=(
                TensorSpec("grip", "int64", (), Discrete(3)),
                TensorSpec("turn", "float32", (2,), Box((-1.0,), (1.0,))),
            ),
            horizon=_STEPS,
        )

    def world(self) -> Cooking:
        return Cooking()


class Cooking:
    """One slot of a Kitchen."""

    def start(self, cell: Cell) -> Arrays:
        self._steps = 0
        return self._observation(np.zeros(2))

    def step(self, action: Arrays) -> Step:
        self._steps += 1
        return Step(
            reward=float(action["grip"]),
            observation=self._observation(action["turn"]),
            terminated=False,
            truncated=self._steps == _STEPS,
            success=False,
        )

    def close(self) -> None:
        pass

    def _observation(self, turn: Array) -> Arrays:
        return {
            "robot/arm": np.array([*turn, self._steps], np.float32),
            "picture": np.full((40, 40, 3), self._steps, np.uint8),
            "robot/hand": np.array(self._steps / 3),
            "lamps": np.array([self._steps > lamp for lamp in range(4)], np.int8),
        }
