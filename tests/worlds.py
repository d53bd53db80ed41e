"""Small worlds for tests: real suites, built by name in any process."""

from __future__ import annotations

import os
import signal
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from env_adapters import Cell, Step
from reglue import Box, Phase, TaskSpec, TensorSpec
from reglue.spec import Arrays


class Corridor:
    """Walks of `horizon` steps. Variant v of a task succeeds at step `solved[task][v]`.

    A cell that evaluates ends at its success. 0 means never. The observation is
    (steps taken, sum of actions), the reward 1 plus a tenth of the action, so that a
    walk's bits depend on its actions. `show` adds the task's place and the variant.
    """

    def __init__(
        self, *, solved: Mapping[str, Sequence[int]], horizon: int = 5, show: bool = False
    ) -> None:
        self.solved = solved
        self.horizon = horizon
        self.show = show
        self.spec = TaskSpec(
            observations=(TensorSpec("observation", "float64", (4 if show else 2,)),),
            actions=(TensorSpec("action", "float32", (1,), Box((-1.0,), (1.0,))),),
            horizon=horizon,
            rewards_in_evaluation=False,
        )

    def environment(self) -> Walk:
        return Walk(self)


class Walk:
    """One slot of a Corridor."""

    def __init__(self, corridor: Corridor) -> None:
        self._corridor = corridor
        self._cell: Cell | None = None
        self._steps = 0
        self._sum = 0.0

    def start(self, cell: Cell) -> Arrays:
        if cell.variant >= len(self._corridor.solved[cell.task]):
            raise ValueError(f"no variant {cell.variant}")
        self._cell, self._steps, self._sum = cell, 0, 0.0
        return self._observation()

    def step(self, action: Arrays) -> Step:
        assert self._cell is not None
        self._steps += 1
        self._sum += float(action["action"][0])
        success = self._steps == self._corridor.solved[self._cell.task][self._cell.variant]
        return Step(
            reward=1.0 + 0.1 * float(action["action"][0]),
            observation=self._observation(),
            terminated=success and self._cell.phase is Phase.EVALUATE,
            truncated=self._steps == self._corridor.horizon,
            success=success,
        )

    def close(self) -> None:
        self._cell = None

    def _observation(self) -> Arrays:
        assert self._cell is not None
        seen = [float(self._steps), self._sum]
        if self._corridor.show:
            seen += [float(list(self._corridor.solved).index(self._cell.task)), self._cell.variant]
        return {"observation": np.array(seen)}


class Trapdoor(Corridor):
    """A corridor whose process is killed at step 3, as long as the file `fuse` has marks.

    Each death removes one mark (a byte) first.
    """

    def __init__(self, *, fuse: str, **corridor: object) -> None:
        super().__init__(**corridor)  # type: ignore[arg-type]
        self.fuse = Path(fuse)

    def environment(self) -> Walk:
        return Falling(self)


class Falling(Walk):
    def step(self, action: Arrays) -> Step:
        taken = super().step(action)
        fuse: Path = self._corridor.fuse  # type: ignore[attr-defined]
        if self._steps == 3 and (marks := fuse.stat().st_size):
            os.truncate(fuse, marks - 1)
            os.kill(os.getpid(), signal.SIGKILL)
        return taken
