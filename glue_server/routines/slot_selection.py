"""The slots that a program names, and its rows in the order of calls to peers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from reglue.messages.environment_messages import Slots
from reglue.messages.value import value
from reglue.spec import Array, Arrays

Places: TypeAlias = npt.NDArray[np.intp]
"""Slots or rows, as an index."""


@value
class Selection:
    """Slots that a program names. Calls to peers name them in ascending order."""

    slots: tuple[int, ...]  # in the program's order
    places: Places  # ascending
    numbers: Slots  # `places`, in the order of calls to peers
    order: Places | None = None  # of the program's rows, ascending by slot; None: as they are

    @staticmethod
    def of(slots: Sequence[int]) -> Selection:
        """Each slot once."""
        unsorted = np.array(slots, np.intp)
        order = unsorted.argsort()
        places = unsorted[order]
        numbers = places.astype(np.uint32)
        for array in (places, numbers):  # one Selection may serve many turns
            array.setflags(write=False)
        ordered = None if np.array_equal(unsorted, places) else order
        return Selection(tuple(slots), places, numbers, ordered)

    def ascending(self, rows: Array) -> Array:
        """The program's rows, for peers."""
        return rows if self.order is None else rows[self.order]

    def all_ascending(self, arrays: Arrays) -> Arrays:
        """As `ascending`, of each."""
        return {name: self.ascending(rows) for name, rows in arrays.items()}

    def named(self, rows: Array) -> Array:
        """Peers' rows, in the program's order."""
        if self.order is None:
            return rows
        named = np.empty_like(rows)
        named[self.order] = rows
        return named

    def all_named(self, arrays: Arrays) -> Arrays:
        """As `named`, of each."""
        if self.order is None:
            return arrays
        return {name: self.named(rows) for name, rows in arrays.items()}
