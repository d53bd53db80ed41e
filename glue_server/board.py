"""The memory that a pool shares with its workers: one row a slot for all that a step moves.

The pool writes a slot's action and reads what came of it after the worker said so; the
worker the other way round. A slot is asked once at a time, so nobody waits for a lock, and
what a worker wrote is there after it died.
"""

from __future__ import annotations

import mmap
import os
import tempfile
from collections.abc import Mapping

import numpy as np

from reglue.environment_calls import Play, Played, Slots
from reglue.spec import Array, TaskSpec

_ALIGNMENT = 64  # bytes: a cache line
_COLUMNS = {"rewards": "f8", "terminated": "?", "truncated": "?", "success": "?"}


class Board:
    """The memory behind a file descriptor, as arrays."""

    def __init__(self, spec: TaskSpec, descriptor: int) -> None:
        slots = spec.slots
        wanted = {
            "action": [(each.name, each.dtype, (slots, *each.shape)) for each in spec.actions],
            # Two rows a slot: its last step's and its first one.
            "seen": [
                (each.name, each.dtype, (2 * slots, *each.shape)) for each in spec.observations
            ],
            "column": [(name, dtype, (slots,)) for name, dtype in _COLUMNS.items()],
        }
        size = 0
        places: list[tuple[str, str, str, tuple[int, ...], int]] = []
        for kind, arrays in wanted.items():
            for name, dtype, shape in arrays:
                places.append((kind, name, dtype, shape, size))
                nbytes = int(np.prod(shape, dtype=np.int64)) * np.dtype(dtype).itemsize
                size += -(-nbytes // _ALIGNMENT) * _ALIGNMENT
        if os.fstat(descriptor).st_size < size:
            os.ftruncate(descriptor, size)
        memory = mmap.mmap(descriptor, max(size, 1))
        self._spec = spec
        self._arrays: dict[str, dict[str, Array]] = {kind: {} for kind in wanted}
        for kind, name, dtype, shape, offset in places:
            self._arrays[kind][name] = np.ndarray(shape, dtype, memory, offset)

    def put_actions(self, play: Play) -> None:
        """What the slots of `play` are to do."""
        for name, rows in play.actions.items():
            self._arrays["action"][name][play.slots] = rows

    def actions(self, slots: Slots) -> dict[str, Array]:
        """What `slots` are to do, name -> (rows, *shape): copies."""
        return {name: rows[slots] for name, rows in self._arrays["action"].items()}

    def put_played(self, play: Play, played: Played) -> None:
        """What came of it."""
        rows = _rows(play)
        for name, seen in played.observations.items():
            self._arrays["seen"][name][rows] = seen
        if len(play.slots):
            for name, column in self._arrays["column"].items():
                column[play.slots] = getattr(played, name)

    def played(self, play: Play, faults: Mapping[int, str]) -> Played:
        """What came of it: copies."""
        rows = _rows(play)
        columns = {name: column[play.slots] for name, column in self._arrays["column"].items()}
        seen = {name: array[rows] for name, array in self._arrays["seen"].items()}
        return Played(observations=seen, faults=faults, **columns)


def new_memory() -> int:
    """A descriptor of memory that is gone when its last process is."""
    if hasattr(os, "memfd_create"):
        return os.memfd_create("reglue-board")
    with tempfile.TemporaryFile() as file:
        return os.dup(file.fileno())


def _rows(play: Play) -> Array:
    """Of observations: steps, then starts."""
    steps = play.slots.astype(np.intp) * 2
    if not play.starts:
        return steps
    return np.concatenate([steps, np.array([2 * slot + 1 for slot in play.starts], np.intp)])
