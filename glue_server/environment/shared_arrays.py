"""The memory that the glue shares with the processes of environments, as arrays."""

from __future__ import annotations

import math
import mmap
import os
from collections.abc import Mapping, Set
from dataclasses import dataclass

import numpy as np

from reglue.environments.slot_worlds import Worlds
from reglue.messages.environment_messages import Play, Played, Slots
from reglue.spec import Array, TaskSpec

_ALIGNMENT = 64  # bytes: a cache line
_COLUMNS = {"rewards": "f8", "terminated": "?", "truncated": "?", "success": "?"}


class SharedArrays:
    """The memory behind a file descriptor, as arrays: rows of each slot for all that a step moves.

    The glue writes a slot's action and reads the answer after the worker said that it is there; the
    worker's worlds write their answers into it directly. A slot has one Play under way at a time,
    so nobody waits for a lock, and what a worker wrote outlives it. Rewards and observations are in
    no message, so that no float loses a bit.
    """

    def __init__(self, spec: TaskSpec, descriptor: int) -> None:
        places = _places(spec)
        size = max(1, places[-1].end)
        if os.fstat(descriptor).st_size < size:
            os.ftruncate(descriptor, size)
        memory = mmap.mmap(descriptor, size)
        self._actions, observations, columns = (
            {
                each.name: np.ndarray(each.shape, each.dtype, memory, each.start)
                for each in places
                if each.kind == kind
            }
            for kind in ("action", "observation", "column")
        )
        self._answers = Played(
            columns["rewards"],
            observations,
            columns["terminated"],
            columns["truncated"],
            columns["success"],
        )

    def put_actions(self, play: Play) -> None:
        """Write the actions of the slots of `play`."""
        at = play.slots.astype(np.intp)
        for name, rows in play.actions.items():
            self._actions[name][at] = rows

    def actions(self, slots: Slots) -> dict[str, Array]:
        """The actions of `slots`, name -> (rows, *shape): copies."""
        at = slots.astype(np.intp)
        return {name: rows[at] for name, rows in self._actions.items()}

    def answer(self, play: Play, worlds: Worlds) -> Played:
        """Let `worlds` write the answer to `play`; what is returned counts for its faults alone."""
        rows = _rows(play)
        for name in _COLUMNS:
            getattr(self._answers, name)[rows] = 0
        return worlds.play_into(self._answers, play, rows.tolist())

    def put_played(self, play: Play, played: Played) -> None:
        """Write the answer to `play`."""
        rows = _rows(play)
        for name, seen in played.observations.items():
            self._answers.observations[name][rows] = seen
        for name in _COLUMNS:
            getattr(self._answers, name)[rows[: len(play.slots)]] = getattr(played, name)

    def played(
        self, play: Play, faults: Mapping[int, str], illegal: Set[int], outside: int = 0
    ) -> Played:
        """The answer to `play`: copies."""
        rows = _rows(play)
        steps = rows[: len(play.slots)]
        earned = {name: getattr(self._answers, name).take(steps) for name in _COLUMNS}
        return Played(
            earned["rewards"],
            {name: array.take(rows, 0) for name, array in self._answers.observations.items()},
            earned["terminated"],
            earned["truncated"],
            earned["success"],
            faults,
            frozenset(illegal),
            outside=outside,
            is_fresh=True,
        )


@dataclass(frozen=True, slots=True)
class _Place:
    """The place of an array in the shared memory."""

    kind: str
    name: str
    dtype: str
    shape: tuple[int, ...]
    start: int  # byte

    @property
    def end(self) -> int:
        """The first byte at which the next array may begin."""
        size = math.prod(self.shape) * np.dtype(self.dtype).itemsize
        return self.start + -(-size // _ALIGNMENT) * _ALIGNMENT


def _places(spec: TaskSpec) -> list[_Place]:
    slots = spec.slots
    rows = 2 * slots  # of answers: a slot's last step, and its last start
    arrays = [("action", each.name, each.dtype, (slots, *each.shape)) for each in spec.actions]
    arrays += [
        ("observation", each.name, each.dtype, (rows, *each.shape)) for each in spec.observations
    ]
    arrays += [("column", name, dtype, (rows,)) for name, dtype in _COLUMNS.items()]
    places: list[_Place] = []
    for array in arrays:
        places.append(_Place(*array, start=places[-1].end if places else 0))
    return places


def _rows(play: Play) -> Array:
    """The rows of its answer in the shared memory: steps, then starts."""
    steps = play.slots.astype(np.intp) * 2
    if not play.starts:
        return steps
    return np.concatenate([steps, np.array([2 * slot + 1 for slot in play.starts], np.intp)])
