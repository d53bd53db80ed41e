"""Writes rows into arrays that were made beforehand."""

from __future__ import annotations

import numpy as np

from reglue.errors import BadArgument, brief
from reglue.rollouts.rollout import empty
from reglue.spec import Array, Arrays


def integer(name: str, value: object, least: int) -> int:
    """The argument as a Python integer. Raises BadArgument for another kind, or below `least`."""
    if isinstance(value, int | np.integer) and not isinstance(value, bool) and value >= least:
        return int(value)
    raise BadArgument(f"got {name}={brief(value)}, wanted an integer, {least} or more")


class Recorder:
    """Arrays of shape (rows, columns, …), which the first row's values define."""

    def __init__(self, rows: int, columns: int) -> None:
        self.rows, self.columns = rows, columns
        self.arrays: dict[str, Array] = {}

    def put(self, row: int, values: Arrays, columns: slice = slice(None)) -> None:
        """Write one row of some columns. Raises BadArgument for another shape or kind than the
        first row's.
        """
        for name, value in values.items():
            array = self.arrays.get(name)
            if array is None:
                shape = (self.rows, self.columns, *value.shape[1:])
                array = self.arrays[name] = empty(shape, value.dtype)
            place = array[row, columns]
            if place.shape != value.shape or not (
                value.dtype == array.dtype or np.can_cast(value.dtype, array.dtype, "same_kind")
            ):
                raise BadArgument(
                    f"got {name} as {value.dtype} of shape {value.shape}, wanted {array.dtype} of "
                    f"shape {place.shape}, as before"
                )
            place[...] = value

    def grow(self) -> None:
        """Make room for twice as many rows."""
        for name, array in self.arrays.items():
            larger = empty((2 * self.rows, *array.shape[1:]), array.dtype)
            larger[: self.rows] = array
            self.arrays[name] = larger
        self.rows *= 2

    def cut(self, rows: int) -> dict[str, Array]:
        """The first rows of every array."""
        return {name: array[:rows] for name, array in self.arrays.items()}
