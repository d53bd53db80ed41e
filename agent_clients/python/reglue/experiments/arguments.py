"""What a benchmark program gives to a routine, looked at before any call goes out.

All raise OutOfDomain for what is of the wrong type, or for what no call can carry.
"""

from __future__ import annotations

import operator
from collections.abc import Iterable, Mapping
from typing import Any, SupportsIndex, cast

import numpy as np
import numpy.typing as npt

from reglue.errors import OutOfDomain

MOST_UINT32 = 2**32 - 1
MOST_UINT64 = 2**64 - 1
MOST_SEED = 2**63 - 1


def given_number(what: str, value: object, *, most: int, least: int = 0) -> int:
    """A whole number from `least` to `most`."""
    try:
        number = int(operator.index(cast("SupportsIndex", value)))
    except TypeError:
        number = least - 1
    if not least <= number <= most:
        wanted = f"a whole number from {least} to {most}"
        raise OutOfDomain(got=f"{what} {value!r}", wanted=wanted)
    return number


def given_slot(slot: object) -> int:
    """The number of a slot; whether there is such a slot is the glue's to say."""
    return given_number("slot", slot, most=MOST_UINT32)


def given_slots(slots: object) -> tuple[int, ...]:
    """The numbers of slots."""
    if type(slots) is tuple and not slots:  # as most programs have it
        return ()
    if not isinstance(slots, Iterable):
        raise OutOfDomain(got=f"slots {slots!r}", wanted="a list of slots, such as [0]")
    return tuple(map(given_slot, slots))


def given_text(what: str, text: object) -> str:
    """A string that can be sent: UTF-8, which has no lone surrogates."""
    if not isinstance(text, str):
        raise OutOfDomain(got=f"{what} {text!r}", wanted="a string")
    try:
        text.encode()
    except UnicodeEncodeError:
        raise OutOfDomain(got=f"{what} {text!r}", wanted="text that UTF-8 can hold") from None
    return text


def given_rows(rows: object) -> dict[str, npt.NDArray[Any]]:
    """Named arrays of numbers; their shapes are the glue's to look at."""
    if not isinstance(rows, Mapping) or not all(isinstance(name, str) for name in rows):
        raise OutOfDomain(got=repr(rows), wanted="a dict of named arrays, one row for each slot")
    return {name: _array(repr(name), values) for name, values in rows.items()}


def given_rewards(rewards: object) -> npt.NDArray[np.float64]:
    """One number for each slot, (rows,)."""
    return _array("rewards", rewards).astype(np.float64).reshape(-1)


def _array(what: str, values: object) -> npt.NDArray[Any]:
    try:
        array = np.asarray(values)
    except ValueError:  # rows of different lengths
        array = np.array(None)
    if array.dtype.kind not in "biuf":
        raise OutOfDomain(got=f"{what} = {values!r}", wanted="numbers, one row for each slot")
    return array
