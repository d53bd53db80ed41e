"""Which of two agents does better while it learns, judged over independent runs."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from reglue.errors import UsageError
from reglue_bench.results.result import OnlineScore, Result
from reglue_bench.statistics.differences import student
from reglue_bench.statistics.paired import Difference, over_all_pairs, over_pairs
from reglue_bench.statistics.success import FloatArray

_SAME = (
    "episode_limit",
    "worst_performance",
)  # parameters that decide what a run is, beside quota and measure


def compare_learning(run: Result, reference: Result) -> Difference:
    """`run` minus `reference`, run by run.

    Raises UsageError where these do not measure the same, or one of them has no performance,
    as not all of its runs have one.

    Run k of either begins with the same environment seed. Interval and p-value are those of the
    paired t-test: valid whether or not a shared seed makes runs alike, and narrow where it does.
    The probability of improvement is over all pairs of a run of one and a run of the other.
    """
    if not _measure_the_same(run, reference):
        raise UsageError("the runs measure different things, so there is nothing to compare")
    both = min(len(_online(each).runs) for each in (run, reference))
    one, other = (_performances(each)[:both] for each in (run, reference))
    found = student({"": one - other})
    return Difference(
        difference=float((one - other).mean()),
        interval95=found.interval95,
        probability_of_improvement=over_all_pairs(one, other),
        p_value=found.p_value,
        p_holm=found.p_value,
        pairs=both,
        unlike=int(np.count_nonzero(one != other)),
    )


def compare_all_learning(results: Sequence[Result]) -> dict[tuple[int, int], Difference]:
    """Every later one minus every earlier one, as `compare_all`."""
    return over_pairs(results, compare_learning)


def _measure_the_same(run: Result, reference: Result) -> bool:
    ours, theirs = _online(run), _online(reference)
    return (
        run.goals_sha256 == reference.goals_sha256
        and (ours.counted_in, ours.quota, ours.metric)
        == (theirs.counted_in, theirs.quota, theirs.metric)
        and all(run.parameters.get(name) == reference.parameters.get(name) for name in _SAME)
    )


def _performances(result: Result) -> FloatArray:
    """Of all runs, in their order, shape (runs,)."""
    found = [run.performance for run in _online(result).runs]
    if not found or None in found:
        raise UsageError(f"{result.agent.label} has no performance to be compared")
    return np.array(found, np.float64)


def _online(result: Result) -> OnlineScore:
    if result.online is None:
        raise UsageError(f"{result.benchmark} is not an online benchmark")
    return result.online
