"""Tables for other programs: pandas' data frames, HTML of notebooks, CSV, JSON lines, Parquet."""

from __future__ import annotations

import csv
import json
import math
from collections.abc import Callable, Iterable
from html import escape
from io import TextIOWrapper
from itertools import groupby, islice
from typing import Any, BinaryIO, TypeAlias

from reglue.errors import MissingExtra
from reglue_bench.float_range import share
from reglue_bench.formatting import number, percent, percents
from reglue_bench.results.scores import CurvePoint, TaskScore

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
_WIDTH, _HEIGHT = 160, 14  # pixels of a row's line


def frame_of(columns: Iterable[str], rows: Iterable[Iterable[object]]) -> Any:
    """A DataFrame with these columns. Raises MissingExtra without pandas."""
    try:
        import pandas
    except ModuleNotFoundError as error:
        raise MissingExtra("to_pandas()", "pandas", "the package pandas") from error
    return pandas.DataFrame(map(tuple, rows), columns=list(columns))


def frame_with_intervals(
    kind: type[TaskScore] | type[CurvePoint], rows: Iterable[TaskScore] | Iterable[CurvePoint]
) -> Any:
    """Rows of that kind, with `low` and `high` in place of `interval95`: NaN where it is None."""
    place = kind._fields.index("interval95")
    columns = [*kind._fields[:place], "low", "high", *kind._fields[place + 1 :]]
    parted = ((*row[:place], *(row.interval95 or (None, None)), *row[place + 1 :]) for row in rows)
    return frame_of(columns, parted).astype({"low": float, "high": float})


def notebook_table(headline: str, scores: Iterable[TaskScore]) -> str:
    """The headline, then a row for each score, with its interval drawn.

    Rates stand on a line from 0 to 1, other scores of one kind on one that holds them all.
    """
    first, *notes = headline.splitlines()
    parts = [f"<p><strong>{escape(first)}</strong>", *(f"<br>{escape(note)}" for note in notes)]
    parts.append("</p><table><thead><tr>")
    headings = ("task", "score", "of", "95 % interval", "")
    parts += (f'<th style="text-align: left">{heading}</th>' for heading in headings)
    parts.append("</tr></thead><tbody>")
    for _, of_kind in groupby(scores, key=lambda row: row.what):
        rows = list(of_kind)
        ends = [end for row in rows for end in (row.score, *(row.interval95 or ()))]
        low, high = (0.0, 1.0) if rows[0].is_rate else (min(ends), max(ends))
        parts += (_row(row, low, high) for row in rows)
    parts.append("</tbody></table>")
    return "".join(parts)


def _row(row: TaskScore, low: float, high: float) -> str:
    amount = percent(row.score) if row.is_rate else number(row.score)
    interval = ""
    if row.interval95 is not None:
        ends = row.interval95
        interval = percents(ends) if row.is_rate else f"{number(ends[0])} to {number(ends[1])}"
    cells = (row.task or "all tasks", f"{row.what} {amount}", row.of, interval)
    weight = "normal" if row.task else "bold"
    texts = "".join(f'<td style="text-align: left">{escape(cell)}</td>' for cell in cells)
    return f'<tr style="font-weight: {weight}">{texts}<td>{_line(row, low, high)}</td></tr>'


def _line(row: TaskScore, low: float, high: float) -> str:
    """A dot, and the interval as a line beside it; nothing if all of the kind are equal."""
    if low == high:
        return ""
    margin, middle = 6, _HEIGHT / 2

    def at(amount: float) -> str:
        return f"{margin + (_WIDTH - 2 * margin) * share(amount, low, high):.1f}"

    ends = row.interval95 or (row.score, row.score)
    line = f'x1="{at(ends[0])}" x2="{at(ends[1])}" y1="{middle}" y2="{middle}"'
    whole = f'x1="{margin}" x2="{_WIDTH - margin}" y1="{middle}" y2="{middle}"'
    return (
        f'<svg width="{_WIDTH}" height="{_HEIGHT}" role="img" aria-label="from {number(low)} to '
        f'{number(high)}"><line {whole} stroke="currentColor" stroke-opacity="0.2"/>'
        f'<line {line} stroke="currentColor" stroke-width="2"/>'
        f'<circle cx="{at(row.score)}" cy="{middle}" r="4" fill="currentColor"/></svg>'
    )


def write_table(episodes: Iterable[Values], file: BinaryIO, form: str) -> None:
    """Write one row for each episode, in any number with the same memory.

    `form` is csv, jsonl or parquet. Raises MissingExtra for Parquet without PyArrow.
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


_WRITERS: dict[str, Callable[[Iterable[Values], BinaryIO], None]] = {
    "csv": _csv,
    "jsonl": _jsonl,
    "parquet": _parquet,
}
