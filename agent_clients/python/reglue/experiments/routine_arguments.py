"""A routine's arguments, checked before any call is sent.

All raise OutOfDomain for a wrong type, and for what no call can carry.
"""

from __future__ import annotations

import operator
from collections.abc import Iterable, Mapping
from typing import Any, SupportsIndex, cast

import numpy as np
import numpy.typing as npt

from reglue.errors import OutOfDomain
from reglue.messages.experiment_messages import Goal

MOST_UINT32 = 2**32 - 1
MOST_UINT64 = 2**64 - 1
MOST_SEED = 2**63 - 1


def number(what: str, value: object, *, most: int, least: int = 0) -> int:
    """An integer from `least` to `most`."""
    try:
        integer = int(operator.index(cast("SupportsIndex", value)))
    except TypeError:
        integer = least - 1
    if not least <= integer <= most:
        wanted = f"an integer from {least} to {most}"
        raise OutOfDomain(got=f"{what} {value!r}", wanted=wanted)
    return integer


def slot(value: object) -> int:
    """The number of a slot; the glue checks that the slot exists."""
    return number("slot", value, most=MOST_UINT32)


def slot_count(value: object) -> int:
    """The number of slots to play."""
    return number("slots", value, least=1, most=MOST_UINT32)


def variant_number(value: object) -> int:
    """The number of a variant; the glue checks that it exists."""
    return number("variant", value, most=MOST_UINT32)


def seed(value: object) -> int:
    """A seed, 63 bits."""
    return number("seed", value, most=MOST_SEED)


def slots(values: object) -> tuple[int, ...]:
    """The numbers of slots."""
    if type(values) is tuple and not values:  # as most programs have it
        return ()
    if not isinstance(values, Iterable):
        raise OutOfDomain(got=f"slots {values!r}", wanted="a list of slots, such as [0]")
    return tuple(map(slot, values))


def goal(task: object, variant: object) -> Goal | None:
    """The goal of a start, which the glue checks; None: the slot's goal stays."""
    if task is None and variant is None:
        return None
    return Goal(
        "" if task is None else text("task", task),
        0 if variant is None else variant_number(variant),
    )


def text(what: str, value: object) -> str:
    """A string that UTF-8 can encode: one without lone surrogates."""
    if not isinstance(value, str):
        raise OutOfDomain(got=f"{what} {value!r}", wanted="a string")
    try:
        value.encode()
    except UnicodeEncodeError:
        raise OutOfDomain(got=f"{what} {value!r}", wanted="text that UTF-8 can encode") from None
    return value


def message(value: object) -> str:
    """A text; None is an empty one."""
    return "" if value is None else text("message", value)


def rows(arrays: object) -> dict[str, npt.NDArray[Any]]:
    """Named arrays of numbers; the glue checks their shapes."""
    if not isinstance(arrays, Mapping) or not all(isinstance(name, str) for name in arrays):
        raise OutOfDomain(got=repr(arrays), wanted="a dict of named arrays, one row for each slot")
    return {name: _array(repr(name), values) for name, values in arrays.items()}


def rewards(values: object) -> npt.NDArray[np.float64]:
    """One number for each slot, (rows,)."""
    return _array("rewards", values).astype(np.float64).reshape(-1)


def _array(what: str, values: object) -> npt.NDArray[Any]:
    try:
        array = np.asarray(values)
    except ValueError:  # rows of different lengths
        array = np.array(None)
    if array.dtype.kind not in "biuf":
        raise OutOfDomain(got=f"{what} = {values!r}", wanted="numbers, one row for each slot")
    return array
