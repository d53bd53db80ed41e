"""A result's tables as pandas' data frames, and as a notebook shows them: HTML without scripts."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape
from itertools import groupby
from typing import Any

from reglue.errors import MissingExtra
from reglue_bench.float_range import share
from reglue_bench.formatting import number, percent, percents
from reglue_bench.results.scores import CurvePoint, TaskScore

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
