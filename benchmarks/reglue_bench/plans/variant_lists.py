"""Which variants of a task are played, as a benchmark's file lists them."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Annotated, Any, TypeAlias

from pydantic import PlainValidator

from reglue.errors import UnknownName, UsageError

SPLITS = ("train", "test")

_WANTED = 'wanted numbers from 0, "first-last", or a list of such'


def _read(given: Any) -> Mapping[str, Sequence[range]]:
    """By split; the key is empty where variants are not split. Raises ValueError."""
    if not isinstance(given, dict):
        return {"": _ranges(given)}
    if not given:
        raise ValueError(f"got none, {_WANTED}")
    for split in given:
        if split not in SPLITS:
            raise ValueError(str(UnknownName("split", split, SPLITS)))
    found = {split: _ranges(listed) for split, listed in given.items()}
    _no_number_twice([each for ranges in found.values() for each in ranges])
    return found


Variants: TypeAlias = Annotated[Mapping[str, Sequence[range]], PlainValidator(_read)]
"""Numbers by split: `"0-39"`, `[3, "5-9"]`, or `{ train = "0-39", test = "40-49" }`."""


def numbers(variants: Mapping[str, Sequence[range]] | None, split: str, count: int) -> list[int]:
    """Those of `split`, of a task that has `count`; all if nothing is listed. Raises UsageError."""
    if variants is None:
        return list(range(count))
    if "" not in variants and split not in variants:
        wanted = " or ".join(f'split = "{each}"' for each in variants)
        got = f'split = "{split}"' if split else "no split"
        raise UsageError(f"got {got}, wanted {wanted}")
    ranges = variants[split if split in variants else ""]
    for each in ranges:
        if each.stop > count:
            raise UsageError(f"got variant {each.stop - 1}, wanted some of 0 to {count - 1}")
    return [number for each in ranges for number in each]


def _ranges(listed: Any) -> list[range]:
    ranges = [_range(each) for each in (listed if isinstance(listed, list) else [listed])]
    if not ranges:
        raise ValueError(f"got none, {_WANTED}")
    _no_number_twice(ranges)
    return ranges


def _range(given: Any) -> range:
    if type(given) is int and given >= 0:
        return range(given, given + 1)
    found = re.fullmatch(r"(\d+)-(\d+)", given, re.ASCII) if isinstance(given, str) else None
    if found is None or int(found[1]) > int(found[2]):
        raise ValueError(f"got {given!r}, {_WANTED}")
    return range(int(found[1]), int(found[2]) + 1)


def _no_number_twice(ranges: Sequence[range]) -> None:
    ordered = sorted(ranges, key=lambda each: each.start)
    for before, after in pairwise(ordered):
        if after.start < before.stop:
            raise ValueError(f"got variant {after.start} twice, wanted each once")
