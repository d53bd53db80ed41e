"""Episodes as tables for other programs: CSV, JSON lines and Parquet."""

from __future__ import annotations

import csv
import json
import math
from collections.abc import Callable, Iterable
from io import TextIOWrapper
from itertools import islice
from typing import TYPE_CHECKING, BinaryIO, Literal

from reglue.errors import MissingExtra
from reglue_bench.results.episode_columns import COLUMNS

if TYPE_CHECKING:
    from reglue_bench.results.episodes import EpisodeRow

Format = Literal["csv", "jsonl", "parquet"]

_AT_ONCE = 10_000  # rows of a Parquet row group


def write_table(episodes: Iterable[EpisodeRow], file: BinaryIO, form: Format) -> None:
    """Write one row for each episode, in any number with the same memory.

    Raises MissingExtra for Parquet without PyArrow.
    """
    _WRITERS[form](episodes, file)


def _csv(episodes: Iterable[EpisodeRow], file: BinaryIO) -> None:
    """Floats with all their digits, booleans as `True` and `False`."""
    text = TextIOWrapper(file, "utf-8", errors="backslashreplace", newline="")
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(COLUMNS)
    writer.writerows(row.values for row in episodes)
    text.detach()


def _jsonl(episodes: Iterable[EpisodeRow], file: BinaryIO) -> None:
    """An object for each line; null for a return that is not finite, as JSON has none."""
    for row in episodes:
        values: dict[str, object] = dict(zip(COLUMNS, row.values, strict=True))
        if not math.isfinite(row.return_):
            values["return"] = None
        file.write(json.dumps(values, allow_nan=False).encode() + b"\n")


def _parquet(episodes: Iterable[EpisodeRow], file: BinaryIO) -> None:
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
            columns = zip(*(row.values for row in some), strict=True)
            writer.write_table(pa.table(dict(zip(COLUMNS, columns, strict=True)), schema))


_WRITERS: dict[Format, Callable[[Iterable[EpisodeRow], BinaryIO], None]] = {
    "csv": _csv,
    "jsonl": _jsonl,
    "parquet": _parquet,
}
