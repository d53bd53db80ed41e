"""Worlds for online benchmarks."""

from __future__ import annotations

from dataclasses import replace

from env_adapters import Step
from reglue.spec import Arrays
from tests.worlds import Corridor, Walk


class Treadmill(Corridor):
    """A corridor without an end: one episode that goes on forever."""

    def __init__(self) -> None:
        super().__init__(solved={"walk": [0]}, horizon=2**31)
        self.spec = replace(self.spec, horizon=0, continuing=True)


class Fragile(Corridor):
    """A corridor whose world raises at step `breaks` of an episode, `times` times in all."""

    def __init__(self, *, breaks: int, times: int) -> None:
        super().__init__(solved={"walk": [0]})
        self.breaks, self.left = breaks, times

    def world(self) -> Breaking:
        return Breaking(self)


class Breaking(Walk):
    def step(self, action: Arrays) -> Step:
        taken = super().step(action)
        corridor: Fragile = self._corridor  # type: ignore[assignment]
        if self._steps == corridor.breaks and corridor.left:
            corridor.left -= 1
            raise RuntimeError("the floor gave way")
        return taken
