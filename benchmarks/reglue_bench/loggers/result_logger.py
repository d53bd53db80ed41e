"""The interface of a logger, and a result's numbers under the names that every tool shows."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

from reglue_bench.results.result import Result
from reglue_bench.statistics import Interval


class ResultLogger(ABC):
    """Writes scores to a tool. `WHERE` of `NAME:WHERE` is what it is made with."""

    @abstractmethod
    def __init__(self, where: str) -> None:
        """Raises MissingExtra without the tool's package; an empty `where` is its default."""

    @abstractmethod
    def __call__(self, result: Result, step: int | None) -> None:
        """Write a result's scores, at that step of training if there is one, and its curves.

        May raise what it likes: the run goes on.
        """


def metrics_of(result: Result) -> dict[str, float]:
    """`MT10/success`, `MT10/success_low` and `_high` of its 95 % interval, `MT10/mean_return`, …

    Those of a task stand below it, `MT10/reach-v3/success`, if there are several tasks.
    """
    rows = result.scores
    has_several = len({row.task for row in rows if row.task}) > 1
    metrics: dict[str, float] = {}
    for row in rows:
        if has_several or not row.task:
            _put(metrics, result, [row.task, row.what], row.score, row.interval95)
    return metrics


def curves_of(result: Result) -> dict[int, dict[str, float]]:
    """`MT10/training_return`, … of an agent that learned, by the step or episode of each point."""
    curves: dict[int, dict[str, float]] = {}
    for point in result.curves:
        _put(curves.setdefault(point.at, {}), result, [point.curve], point.value, point.interval95)
    return dict(sorted(curves.items()))


def _put(
    metrics: dict[str, float],
    result: Result,
    names: Sequence[str],
    value: float,
    interval95: Interval | None,
) -> None:
    name = "/".join(each.replace(" ", "_") for each in (result.title, *names) if each)
    metrics[name] = value
    if interval95 is not None:
        metrics[f"{name}_low"], metrics[f"{name}_high"] = interval95
