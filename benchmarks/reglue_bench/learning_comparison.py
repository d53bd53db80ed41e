"""Which of two agents does better while it learns, judged over independent runs."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np

from reglue.errors import UsageError
from reglue_bench.comparison import holm
from reglue_bench.measures import FloatArray
from reglue_bench.result import Interval, OnlineScore, Result

_SAME = ("episode_limit",)  # parameters that decide what a run is, beside quota and measure


@dataclass(frozen=True, slots=True)
class LearningComparison:
    """How far one agent's performance lies above another's: positive, it is the better one."""

    difference: float  # of mean performances, task units
    interval95: Interval | None  # None where an agent has a single run
    probability_of_improvement: float  # 0 to 1; 0.5 means neither
    p_value: float | None  # two-sided; None where there is no interval
    p_holm: float | None  # corrected for all pairs


def compare_learning(run: Result, reference: Result) -> LearningComparison:
    """`run` minus `reference`, over their completed runs.

    Raises UsageError where these do not measure the same, or none was completed.

    The interval and the p-value are of Welch's t-test (Welch 1947, Biometrika 34:28), which
    Colas, Sigaud & Oudeyer (2019, "A hitchhiker's guide to statistical comparisons of
    reinforcement learning algorithms") recommend: agents differ in their spread. Runs are
    not paired: agents that act otherwise soon see other states, so that a shared seed says
    little; where it says something, Welch's interval is too wide rather than too narrow.
    The probability of improvement is P(X > Y) + P(X = Y)/2 over all pairs of a run of one
    and a run of the other (Agarwal et al. 2021, "Deep RL at the edge of the statistical
    precipice", section 4.3).
    """
    ours, theirs = _performances(run), _performances(reference)
    if not _measure_the_same(run, reference):
        raise UsageError("the runs measure different things, so there is nothing to compare")
    if not len(ours) or not len(theirs):
        raise UsageError("a comparison needs a completed run of each agent")
    difference = float(ours.mean() - theirs.mean())
    interval, p_value = _welch(ours, theirs, difference)
    return LearningComparison(
        difference=difference,
        interval95=interval,
        probability_of_improvement=float((np.sign(ours[:, None] - theirs) + 1).mean() / 2),
        p_value=p_value,
        p_holm=p_value,
    )


def compare_all_learning(results: Sequence[Result]) -> dict[tuple[int, int], LearningComparison]:
    """Every later one minus every earlier one, by their places; Holm over all pairs.

    A pair that cannot be compared is absent.
    """
    found: dict[tuple[int, int], LearningComparison] = {}
    for earlier, later in combinations(range(len(results)), 2):
        try:
            found[later, earlier] = compare_learning(results[later], results[earlier])
        except UsageError:
            continue
    tested = {pair: each.p_value for pair, each in found.items() if each.p_value is not None}
    corrected = dict(zip(tested, holm(list(tested.values())), strict=True))
    return {pair: replace(each, p_holm=corrected.get(pair)) for pair, each in found.items()}


def _welch(
    ours: FloatArray, theirs: FloatArray, difference: float
) -> tuple[Interval | None, float | None]:
    if len(ours) < 2 or len(theirs) < 2:
        return None, None
    # Here, since importing scipy takes a while and most commands need none of it.
    from scipy.special import stdtr, stdtrit

    squares = [each.var(ddof=1) / len(each) for each in (ours, theirs)]
    error = math.sqrt(sum(squares))
    if not error:  # no run differs from another of its agent: there is no spread to judge by
        return None, None
    degrees = error**4 / sum(
        square**2 / (len(each) - 1) for square, each in zip(squares, (ours, theirs), strict=True)
    )
    half = float(stdtrit(degrees, 0.975)) * error
    p_value = 2 * float(stdtr(degrees, -abs(difference) / error))
    return (difference - half, difference + half), p_value


def _measure_the_same(run: Result, reference: Result) -> bool:
    ours, theirs = _online(run), _online(reference)
    return (
        run.goals_sha256 == reference.goals_sha256
        and (ours.counted_in, ours.quota, ours.measure)
        == (theirs.counted_in, theirs.quota, theirs.measure)
        and all(run.parameters.get(name) == reference.parameters.get(name) for name in _SAME)
    )


def _performances(result: Result) -> FloatArray:
    """Of the completed runs, shape (runs,)."""
    completed = _online(result).completed
    return np.array([run.performance for run in completed if run.performance is not None])


def _online(result: Result) -> OnlineScore:
    if result.online is None:
        raise UsageError(f"{result.benchmark} is not an online benchmark")
    return result.online
