"""Environments of many slots as people write them first: a step moves the whole batch."""

from __future__ import annotations

from collections.abc import Mapping, Set
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from env_adapters import Cell
from reglue import Box, TaskSpec, TensorSpec
from reglue.environments.environment import Earned, Environment
from reglue.spec import Array, Arrays

SPEC = TaskSpec(
    observations=(TensorSpec("observation", "float64", (2,)),),
    actions=(TensorSpec("action", "float32", (1,), Box((-1.0,), (1.0,))),),
)


@dataclass
class Batch(Environment):
    """Ends a slot's episode after 5 to 12 steps, by its seed; a step ages every slot.

    Observes (age, sum of pushes and seeds); a step earns that sum's remainder. All numbers are
    multiples of 1/8, so that sums are exact.
    """

    raises_at: Set[int] = frozenset()  # steps of the batch, counted over all its lives
    always_raises: bool = False  # in each life's third step
    stepped: int = 0
    made: int = 0
    subsets: list[list[int]] = field(default_factory=list)  # slots of each step

    tells_success = False

    def env_init(self, slots: int) -> TaskSpec:
        self.made += 1
        self._life = 0  # steps
        self._age, self._sum, self._length = np.zeros((3, slots))
        return SPEC

    def env_start(self, cells: Mapping[int, Cell]) -> Mapping[str, Any]:
        for slot, cell in cells.items():
            rng = np.random.default_rng(cell.seed + cell.repeat)
            self._age[slot], self._sum[slot] = 0, rng.integers(-8, 8) / 8
            self._length[slot] = rng.integers(5, 13)
        return self._seen([*cells])

    def env_step(self, actions: Arrays, slots: Array) -> Earned:
        self.stepped += 1
        self._life += 1
        self.subsets.append(slots.tolist())
        self._age += 1
        if self.stepped in self.raises_at or (self.always_raises and self._life >= 3):
            raise RuntimeError("the belt slipped")
        pushes = np.zeros(len(self._age))
        pushes[slots] = np.round(actions["action"][:, 0] * 8) / 8
        self._sum += pushes + 1 / 8
        over = (self._age >= self._length)[slots]
        return Earned(self._sum[slots] % 1, self._seen(slots), terminated=over)

    def _seen(self, slots: Any) -> dict[str, Array]:
        return {"observation": np.stack([self._age[slots], self._sum[slots]], axis=1)}
