"""What a logger is, and the numbers of a result by the names that it has in every tool."""

from __future__ import annotations

from abc import ABC, abstractmethod

from reglue_bench.results.result import Result


class ResultLogger(ABC):
    """Writes scores to a tool. `WHERE` of `NAME:WHERE` is what it is made with."""

    @abstractmethod
    def __init__(self, where: str) -> None:
        """Raises MissingExtra without the tool's package; an empty `where` is its default."""

    @abstractmethod
    def __call__(self, result: Result, step: int | None) -> None:
        """Write a result's scores, at that step of training if there is one.

        May raise what it likes: the run goes on.
        """


def metrics_of(result: Result) -> dict[str, float]:
    """`MT10/success`, `MT10/success_low` and `_high` of its 95 % interval, `MT10/mean_return`, …

    Those of a task stand below it, `MT10/reach-v3/success`, if there are several tasks.
    """
    rows = result.scores
    has_several = len({row.task for row in rows if row.task}) > 1
    metrics = {}
    for row in rows:
        if row.task and not has_several:
            continue
        name = "/".join([result.title, *([row.task] if row.task else []), _key(row.what)])
        metrics[name] = row.score
        if row.interval95 is not None:
            metrics[f"{name}_low"], metrics[f"{name}_high"] = row.interval95
    return metrics


def _key(words: str) -> str:
    return words.replace(" ", "_")
