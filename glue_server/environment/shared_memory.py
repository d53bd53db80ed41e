"""The memory that the glue and its workers share; their messages say when something is there.

It has one row a slot for all that a step moves. The glue writes a slot's action and
reads the result after the worker said that it is there; the worker does the reverse. A slot
is asked once at a time, so nobody waits for a lock, and what a worker wrote outlives it.
Rewards and observations are in no message, so that no float loses a bit.
"""

from __future__ import annotations

import math
import mmap
import os
import tempfile
from collections.abc import Mapping, Set
from dataclasses import dataclass

import numpy as np

from reglue.messages.environment import Play, Played, Slots
from reglue.spec import Array, TaskSpec

_ALIGNMENT = 64  # bytes: a cache line
_COLUMNS = {"rewards": "f8", "terminated": "?", "truncated": "?", "success": "?"}


@dataclass(frozen=True, slots=True)
class _Place:
    """Where an array stands."""

    kind: str
    name: str
    dtype: str
    shape: tuple[int, ...]
    start: int  # byte

    @property
    def end(self) -> int:
        """Where the next one may begin."""
        size = math.prod(self.shape) * np.dtype(self.dtype).itemsize
        return self.start + -(-size // _ALIGNMENT) * _ALIGNMENT


class SharedArrays:
    """The memory behind a file descriptor, as arrays."""

    def __init__(self, spec: TaskSpec, descriptor: int) -> None:
        places = _places(spec)
        size = max(1, places[-1].end)
        if os.fstat(descriptor).st_size < size:
            os.ftruncate(descriptor, size)
        memory = mmap.mmap(descriptor, size)
        self._actions, self._seen, self._columns = (
            {
                each.name: np.ndarray(each.shape, each.dtype, memory, each.start)
                for each in places
                if each.kind == kind
            }
            for kind in ("action", "seen", "column")
        )

    def put_actions(self, play: Play) -> None:
        """What the slots of `play` are to do."""
        for name, rows in play.actions.items():
            self._actions[name][play.slots] = rows

    def actions(self, slots: Slots) -> dict[str, Array]:
        """What `slots` are to do, name -> (rows, *shape): copies."""
        return {name: rows[slots] for name, rows in self._actions.items()}

    def put_played(self, play: Play, played: Played) -> None:
        """What came of it."""
        rows = _rows(play)
        for name, seen in played.observations.items():
            self._seen[name][rows] = seen
        if len(play.slots):
            for name, column in self._columns.items():
                column[play.slots] = getattr(played, name)

    def played(
        self, play: Play, faults: Mapping[int, str], illegal: Set[int], outside: int = 0
    ) -> Played:
        """What came of it: copies."""
        rows = _rows(play)
        earned = {name: column[play.slots] for name, column in self._columns.items()}
        return Played(
            earned["rewards"],
            {name: array[rows] for name, array in self._seen.items()},
            earned["terminated"],
            earned["truncated"],
            earned["success"],
            faults,
            frozenset(illegal),
            outside=outside,
            is_fresh=True,
        )


def _places(spec: TaskSpec) -> list[_Place]:
    slots = spec.slots
    arrays = [("action", each.name, each.dtype, (slots, *each.shape)) for each in spec.actions]
    # Two rows a slot: its last step's and its first one.
    arrays += [
        ("seen", each.name, each.dtype, (2 * slots, *each.shape)) for each in spec.observations
    ]
    arrays += [("column", name, dtype, (slots,)) for name, dtype in _COLUMNS.items()]
    places: list[_Place] = []
    for array in arrays:
        places.append(_Place(*array, start=places[-1].end if places else 0))
    return places


def new_memory() -> int:
    """A descriptor of memory that is gone when its last process is."""
    if hasattr(os, "memfd_create"):
        return os.memfd_create("reglue-slots")
    with tempfile.TemporaryFile() as file:
        return os.dup(file.fileno())


def _rows(play: Play) -> Array:
    """Of observations: steps, then starts."""
    steps = play.slots.astype(np.intp) * 2
    if not play.starts:
        return steps
    return np.concatenate([steps, np.array([2 * slot + 1 for slot in play.starts], np.intp)])
