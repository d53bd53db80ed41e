"""Tables as pandas' data frames."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from reglue.errors import MissingExtra
from reglue_bench.results.scores import CurvePoint, TaskScore


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
