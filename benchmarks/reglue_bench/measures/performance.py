"""Performance: what an agent earns while it learns, over independent runs."""

from __future__ import annotations

import numpy as np

from reglue.errors import UsageError
from reglue_bench.results.result import Measure, Pairs, Result, Units
from reglue_bench.results.scores import PerformanceScore
from reglue_bench.statistics import student

_SAME = ("episode_limit", "worst_performance")
"""Parameters that decide what a run is, beside its quota and metric."""


def measure_text(score: PerformanceScore) -> str:
    """`mean return over the last 100 episodes of a run`."""
    kind, _, last = score.metric.partition(":")
    which = f"all {score.quota:,}" if kind == "all" else f"the last {int(last):,}"
    what = "mean return" if score.counted_in == "episodes" else "mean reward per step"
    return f"{what} over {which} {score.counted_in} of a run"


def _read(result: Result) -> list[float | None]:
    return [run.performance for run in result.score_as(PerformanceScore).runs]


def _pair(run: Units, reference: Units) -> Pairs:
    if not _measure_the_same(run.result, reference.result):
        raise UsageError("the runs have different metrics or quotas and cannot be compared")
    for each in (run, reference):
        if not each.scores or None in each.scores:
            raise UsageError(f"{each.result.agent.label} has no performance to be compared")
    pairs = np.array(list(zip(run.scores, reference.scores, strict=False)), np.float64)
    return {"": (pairs[:, 0], pairs[:, 1])}


def _measure_the_same(run: Result, reference: Result) -> bool:
    ours, theirs = (each.score_as(PerformanceScore) for each in (run, reference))
    return (
        run.goals_sha256 == reference.goals_sha256
        and (ours.counted_in, ours.quota, ours.metric)
        == (theirs.counted_in, theirs.quota, theirs.metric)
        and all(run.parameters.get(name) == reference.parameters.get(name) for name in _SAME)
    )


PERFORMANCE = Measure(
    shown_by="reglue_bench.renderers.performance_renderer:PERFORMANCE",
    name="performance",
    unit="run",
    least=2,
    enough="two runs of either",
    entrant="agent",
    planned="runs",
    read=_read,
    pair=_pair,
    infer=student,
)
