"""Rows of arrays, one a slot: in which order they are asked for, and whose they are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from reglue.environment_calls import Played
from reglue.experiment_calls import Stepped
from reglue.spec import Array, Arrays

Places: TypeAlias = npt.NDArray[np.intp]
"""Slots or rows, as an index."""


@dataclass(frozen=True, slots=True)
class Asked:
    """Slots that a program names. Partners are asked in ascending order."""

    slots: tuple[int, ...]  # in the program's order
    places: Places  # ascending
    order: Places | None = None  # of the program's rows, ascending by slot; None: as they are

    @staticmethod
    def of(slots: Sequence[int]) -> Asked:
        """Each slot once."""
        given = np.array(slots, np.intp)
        order = given.argsort()
        places = given[order]
        return Asked(tuple(slots), places, None if np.array_equal(given, places) else order)

    @property
    def named(self) -> Places:
        """`slots` as an index, in the program's order."""
        return self.places if self.order is None else np.array(self.slots, np.intp)

    def ascending(self, rows: Array) -> Array:
        """The program's rows, for partners."""
        return rows if self.order is None else rows[self.order]

    def all_ascending(self, arrays: Arrays) -> Arrays:
        """As `ascending`, of each."""
        return {name: self.ascending(rows) for name, rows in arrays.items()}

    def copied(self, rows: Array) -> Array:
        """Partners' rows, for the program: a copy of its own."""
        copy = rows.copy()
        if self.order is not None:
            copy[self.order] = rows
        return copy

    def all_copied(self, arrays: Arrays) -> dict[str, Array]:
        """As `copied`, of each."""
        return {name: self.copied(rows) for name, rows in arrays.items()}


def stepped(asked: Asked, played: Played, actions: Arrays) -> Stepped:
    """What a step earned; `actions` in the program's order already."""
    return Stepped(
        asked.slots,
        rewards=asked.copied(played.rewards),
        observations=asked.all_copied(played.observations),
        terminated=asked.copied(played.terminated),
        truncated=asked.copied(played.truncated),
        success=asked.copied(played.success),
        actions=actions,
    )
