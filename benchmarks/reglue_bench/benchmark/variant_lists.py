"""Lists of variants in a benchmark's file, by split."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Annotated, Any, TypeAlias

from pydantic import PlainValidator

from reglue.errors import UnknownName, UsageError

SPLITS = ("train", "test")

_WANTED = 'wanted numbers from 0, "first-last", or a list of such'


def _read_variants(value: Any) -> Mapping[str, Sequence[range]]:
    """Variants by split; the key is empty if they are not split. Raises ValueError."""
    if not isinstance(value, dict):
        return {"": _ranges(value)}
    if not value:
        raise ValueError(f"got none, {_WANTED}")
    for split in value:
        if split not in SPLITS:
            raise ValueError(str(UnknownName("split", split, SPLITS)))
    by_split = {split: _ranges(listed) for split, listed in value.items()}
    _no_number_twice([each for ranges in by_split.values() for each in ranges])
    return by_split


Variants: TypeAlias = Annotated[Mapping[str, Sequence[range]], PlainValidator(_read_variants)]
"""Numbers by split: `"0-39"`, `[3, "5-9"]`, or `{ train = "0-39", test = "40-49" }`."""


def numbers(variants: Mapping[str, Sequence[range]] | None, split: str, count: int) -> list[int]:
    """The variants of `split` of a task with `count`; all if none are listed. Raises UsageError."""
    if variants is None:
        return list(range(count))
    if "" not in variants and split not in variants:
        wanted = " or ".join(f'split = "{each}"' for each in variants)
        got = f'split = "{split}"' if split else "no split"
        raise UsageError(got=got, wanted=wanted)
    ranges = variants[split if split in variants else ""]
    for each in ranges:
        if each.stop > count:
            raise UsageError(got=f"variant {each.stop - 1}", wanted=f"some of 0 to {count - 1}")
    return [number for each in ranges for number in each]


def _ranges(listed: Any) -> list[range]:
    ranges = [_range(each) for each in (listed if isinstance(listed, list) else [listed])]
    if not ranges:
        raise ValueError(f"got none, {_WANTED}")
    _no_number_twice(ranges)
    return ranges


def _range(value: Any) -> range:
    if type(value) is int and value >= 0:
        return range(value, value + 1)
    match = re.fullmatch(r"(\d+)-(\d+)", value, re.ASCII) if isinstance(value, str) else None
    if match is None or int(match[1]) > int(match[2]):
        raise ValueError(f"got {value!r}, {_WANTED}")
    return range(int(match[1]), int(match[2]) + 1)


def _no_number_twice(ranges: Sequence[range]) -> None:
    ordered = sorted(ranges, key=lambda each: each.start)
    for before, after in pairwise(ordered):
        if after.start < before.stop:
            raise ValueError(f"got variant {after.start} twice, wanted each once")
