"""Performance: what an agent earns while it learns, over independent runs."""

from __future__ import annotations

import numpy as np

from reglue.errors import UsageError
from reglue_bench.measures.compare import Pairs, Units
from reglue_bench.results.measure import Interval, Measure
from reglue_bench.results.result import OnlineScore, Result
from reglue_bench.statistics import student

_SAME = ("episode_limit", "worst_performance")
"""Parameters that decide what a run is, beside its quota and metric."""


def online_score(result: Result) -> OnlineScore:
    """The score over runs, which is there."""
    assert result.online is not None, result.benchmark
    return result.online


def measured_words(online: OnlineScore) -> str:
    """`mean return over the last 100 episodes of a run`."""
    kind, _, last = online.metric.partition(":")
    which = f"all {online.quota:,}" if kind == "all" else f"the last {int(last):,}"
    what = "mean return" if online.counted_in == "episodes" else "mean reward per step"
    return f"{what} over {which} {online.counted_in} of a run"


def _score(result: Result) -> tuple[float | None, Interval | None]:
    return online_score(result).performance, online_score(result).interval95


def _read(result: Result) -> list[float | None]:
    return [run.performance for run in online_score(result).runs]


def _pair(run: Units, reference: Units) -> Pairs:
    if not _measure_the_same(run.result, reference.result):
        raise UsageError("the runs have different metrics or quotas and cannot be compared")
    for each in (run, reference):
        if not each.scores or None in each.scores:
            raise UsageError(f"{each.result.agent.label} has no performance to be compared")
    pairs = np.array(list(zip(run.scores, reference.scores, strict=False)), np.float64)
    return {"": (pairs[:, 0], pairs[:, 1])}


def _measure_the_same(run: Result, reference: Result) -> bool:
    ours, theirs = online_score(run), online_score(reference)
    return (
        run.goals_sha256 == reference.goals_sha256
        and (ours.counted_in, ours.quota, ours.metric)
        == (theirs.counted_in, theirs.quota, theirs.metric)
        and all(run.parameters.get(name) == reference.parameters.get(name) for name in _SAME)
    )


PERFORMANCE = Measure(
    name="performance",
    unit="run",
    least=2,
    enough="two runs of either",
    entrant="agent",
    planned="runs",
    score=_score,
    read=_read,
    pair=_pair,
    infer=student,
)
