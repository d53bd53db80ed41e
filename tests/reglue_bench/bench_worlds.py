"""Worlds for online benchmarks."""

from __future__ import annotations

import math
import os
import resource
import signal
from contextlib import suppress
from dataclasses import replace
from random import random

from env_adapters import Cell, Step
from reglue.spec import Arrays
from tests.worlds import Corridor, Trapdoor, Walk


class Treadmill(Corridor):
    """A corridor without an end: one episode that goes on forever."""

    def __init__(self) -> None:
        super().__init__(solved={"walk": [0]}, horizon=2**31)
        self.spec = replace(self.spec, horizon=0, continuing=True)


class Paid(Corridor):
    """A corridor that tells rewards while it evaluates, and their range."""

    def __init__(self, **corridor: object) -> None:
        super().__init__(**corridor)  # type: ignore[arg-type]
        self.spec = replace(self.spec, rewards_in_evaluation=True, reward_range=(0.0, 2.0))


class Pacing(Corridor):
    """Says that an episode may take any number of steps; it ends where it is judged and frozen."""

    def __init__(self) -> None:
        super().__init__(solved={"walk": [0]}, horizon=2**31)
        self.spec = replace(self.spec, horizon=0)

    def world(self) -> Paced:
        return Paced(self)


class Paced(Walk):
    def step(self, action: Arrays) -> Step:
        assert self._cell is not None
        return replace(super().step(action), truncated=self._cell.repeat == 0)


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


class Lottery(Corridor):
    """Three steps, whose reward is the action, -1 to 1; `bounded` says so in the spec."""

    def __init__(self, *, bounded: bool = True) -> None:
        super().__init__(solved={"walk": [0]}, horizon=3)
        ends = (-1.0, 1.0) if bounded else (-math.inf, math.inf)
        self.spec = replace(self.spec, reward_range=ends)

    def world(self) -> Drawing:
        return Drawing(self)


class Drawing(Walk):
    def step(self, action: Arrays) -> Step:
        return replace(super().step(action), reward=float(action["action"][0]))


class Hungry(Trapdoor):
    """A corridor whose process runs out of memory at step 3, as long as `fuse` has marks."""

    def world(self) -> Eating:
        return Eating(self)


class Eating(Walk):
    def step(self, action: Arrays) -> Step:
        taken = super().step(action)
        corridor: Hungry = self._corridor  # type: ignore[assignment]
        if self._steps == 3 and (marks := corridor.fuse.stat().st_size):
            os.truncate(corridor.fuse, marks - 1)
            _run_out_of_memory()
        return taken


def _run_out_of_memory() -> None:
    """Take all of 2 GiB of addresses, then be killed, as the kernel does once pages are used."""
    resource.setrlimit(resource.RLIMIT_AS, (2**31, 2**31))
    taken = []
    with suppress(MemoryError):
        while True:
            taken.append(bytearray(2**26))
    os.kill(os.getpid(), signal.SIGKILL)


class Unrepeatable(Corridor):
    """A corridor that is no function of its cell and actions, in the `way` that is named."""

    def __init__(self, *, way: str, **corridor: object) -> None:
        super().__init__(**corridor)  # type: ignore[arg-type]
        self.way = way

    def world(self) -> Changing:
        return Changing(self)


class Changing(Walk):
    episodes = 0

    def start(self, cell: Cell) -> Arrays:
        self.episodes += 1
        return self._changed(super().start(cell))

    def step(self, action: Arrays) -> Step:
        taken, way = super().step(action), self._way
        reward = {"random reward": random(), "rewards of before": self.episodes}.get(way, 1.0)
        ends = way == "ends sooner" and self._steps > 2 and self.episodes > 1
        return replace(
            taken,
            reward=float(reward),
            observation=self._changed(taken.observation),
            truncated=taken.truncated or ends,
            success=taken.success or (way == "success of before" and self.episodes == 2),
        )

    @property
    def _way(self) -> str:
        corridor: Unrepeatable = self._corridor  # type: ignore[assignment]
        return corridor.way

    def _changed(self, observation: Arrays) -> Arrays:
        if self._way == "sign of zero":
            return {
                name: values * (-1) ** self.episodes * 0.0 for name, values in observation.items()
            }
        if self._way != "random observation":
            return observation
        return {name: values + random() for name, values in observation.items()}


class Steep(Corridor):
    """A corridor whose rewards are finite and huge, of the action's sign: two of one overflow."""

    def __init__(self, **corridor: object) -> None:
        super().__init__(**corridor)  # type: ignore[arg-type]
        self.spec = replace(self.spec, rewards_in_evaluation=True)

    def world(self) -> Slope:
        return Slope(self)


class Slope(Walk):
    def step(self, action: Arrays) -> Step:
        return replace(super().step(action), reward=math.copysign(1.7e308, action["action"][0]))
