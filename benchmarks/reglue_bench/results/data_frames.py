"""Tables as pandas' data frames."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from reglue.errors import MissingExtra
from reglue_bench.results.scores import TaskScore


def frame_of(columns: Iterable[str], rows: Iterable[Iterable[object]]) -> Any:
    """A DataFrame with these columns. Raises MissingExtra without pandas."""
    try:
        import pandas
    except ModuleNotFoundError as error:
        raise MissingExtra("to_pandas()", "pandas", "the package pandas") from error
    return pandas.DataFrame(map(tuple, rows), columns=list(columns))


def frame_of_scores(scores: Iterable[TaskScore]) -> Any:
    """A row each: task (empty: over all tasks), what, score, low, high, n, unit."""
    columns = ["task", "what", "score", "low", "high", "n", "unit"]
    rows = ((*row[:3], *(row.interval95 or (None, None)), row.n, row.unit) for row in scores)
    frame = frame_of(columns, rows)
    return frame.astype({"score": float, "low": float, "high": float})
