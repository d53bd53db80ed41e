"""Worlds that dial in, by `reglue join`: good ones, and several that fail."""

from __future__ import annotations

import os
import threading
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

from env_adapters.classic.mountain_car import MountainCar
from reglue.environments.slot_worlds import Worlds
from reglue.messages.environment_messages import Play, Played
from tests.cheats.cheat_world import Breakable
from tests.reglue_bench.bench_worlds import Fragile, Treadmill
from tests.worlds import Corridor

__all__ = ["Breakable", "Corridor", "Fragile", "MountainCar", "Treadmill"]


class Untold(Corridor):
    """Never tells of success."""

    tells_success = False

    def __init__(self) -> None:
        super().__init__(solved={"walk": [0, 0, 0]})


class Narrow(Worlds):
    """Plays two slots at most."""

    max_slots = 2

    def __init__(self) -> None:
        super().__init__(Corridor(solved={"walk": [1, 3, 0]}))


class Slow(Worlds):
    """Takes `seconds` for the plays that `late` names, counted from the first."""

    def __init__(self, seconds: float, late: list[int]) -> None:
        super().__init__(Corridor(solved={"walk": [0]}))
        self._seconds, self._late, self._plays = seconds, late, 0

    def play(self, play: Play) -> Played:
        self._plays += 1
        if self._plays - 1 in self._late:
            time.sleep(self._seconds)
        return super().play(play)


class Mortal(Worlds):
    """Its process ends at play `dies`, as long as the file `fuse` is there, which it takes away."""

    def __init__(self, fuse: str, dies: int, **corridor: Any) -> None:
        super().__init__(Corridor(**corridor))
        self._fuse, self._left = Path(fuse), dies

    def play(self, play: Play) -> Played:
        self._left -= 1
        if self._left < 0 and self._fuse.exists():
            self._fuse.unlink()
            os._exit(3)
        return super().play(play)


class Endless(Worlds):
    """Has as many variants as can be said."""

    def __init__(self) -> None:
        super().__init__(Corridor(solved={"walk": [0]}))

    @property
    def variants(self) -> dict[str, int]:
        return {"walk": 2**32 - 1}

    def play(self, play: Play) -> Played:
        return super().play(
            replace(
                play, starts={slot: replace(cell, variant=0) for slot, cell in play.starts.items()}
            )
        )


class Deaf(Worlds):
    """Never answers a play."""

    def __init__(self) -> None:
        super().__init__(Corridor(solved={"walk": [0]}))

    def play(self, play: Play) -> Played:
        threading.Event().wait()
        raise AssertionError
