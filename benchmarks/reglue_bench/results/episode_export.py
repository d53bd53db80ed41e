"""Episodes as tables for other programs: CSV, JSON lines and Parquet."""

from __future__ import annotations

import csv
import json
import math
from collections.abc import Callable, Iterable
from io import TextIOWrapper
from itertools import islice
from typing import BinaryIO, Literal, TypeAlias

from reglue.errors import MissingExtra

Format = Literal["csv", "jsonl", "parquet"]

COLUMNS: dict[str, tuple[str, type]] = {
    "unit": ("unit", int),
    "try": ("attempt", int),
    "k": ("k", int),
    "task": ("task", str),
    "variant": ("variant", int),
    "repeat": ("repeat", int),
    "seed": ("seed", int),
    "phase": ("phase", str),
    "status": ("status", str),
    "success": ("success", bool),
    "first_success": ("first_success", int),
    "return": ("return_", float),
    "steps": ("steps", int),
    "clipped": ("clipped", int),
    "defaulted": ("defaulted", int),
    "detail": ("detail", str),
}
"""Each column's field of EpisodeRow, and its type: int64, UTF-8, boolean or float64."""

Values: TypeAlias = tuple[int | str | float | None, ...]
"""Those of an episode, in the order of COLUMNS."""

_AT_ONCE = 10_000  # rows of a Parquet row group


def write_table(episodes: Iterable[Values], file: BinaryIO, form: Format) -> None:
    """Write one row for each episode, in any number with the same memory.

    Raises MissingExtra for Parquet without PyArrow.
    """
    _WRITERS[form](episodes, file)


def _csv(episodes: Iterable[Values], file: BinaryIO) -> None:
    """Floats with all their digits, booleans as `True` and `False`."""
    text = TextIOWrapper(file, "utf-8", errors="backslashreplace", newline="")
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(COLUMNS)
    writer.writerows(episodes)
    text.detach()


def _jsonl(episodes: Iterable[Values], file: BinaryIO) -> None:
    """An object for each line; null for a return that is not finite, as JSON has none."""
    for row in episodes:
        values: dict[str, object] = dict(zip(COLUMNS, map(_finite, row), strict=True))
        file.write(json.dumps(values, allow_nan=False).encode() + b"\n")


def _finite(value: int | str | float | None) -> int | str | float | None:
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _parquet(episodes: Iterable[Values], file: BinaryIO) -> None:
    try:
        import pyarrow as pa
        from pyarrow import parquet
    except ModuleNotFoundError as error:
        raise MissingExtra("reglue export --format parquet", "parquet", "pyarrow") from error

    types = {int: pa.int64(), str: pa.string(), bool: pa.bool_(), float: pa.float64()}
    schema = pa.schema(
        [pa.field(n, types[kind], nullable=n == "seed") for n, (_, kind) in COLUMNS.items()]
    )
    with parquet.ParquetWriter(file, schema) as writer:
        rows = iter(episodes)
        while some := list(islice(rows, _AT_ONCE)):
            columns = zip(*some, strict=True)
            writer.write_table(pa.table(dict(zip(COLUMNS, columns, strict=True)), schema))


_WRITERS: dict[Format, Callable[[Iterable[Values], BinaryIO], None]] = {
    "csv": _csv,
    "jsonl": _jsonl,
    "parquet": _parquet,
}
