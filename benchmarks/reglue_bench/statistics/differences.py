"""Intervals and tests of differences. Each p-value is its interval's inversion, so they agree:
an interval of 95 % leaves 0 out if and only if p < 0.05.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np

from reglue_bench.results.result import Interval, Intervals, Result
from reglue_bench.statistics.intervals import LEAST_IN_STRATUM, Z95, weight_of_all
from reglue_bench.statistics.success import FloatArray

LEAST_GOALS = 5
"""Of fewer goals in all, no interval of a difference of success rates covers what it says."""


@dataclass(frozen=True, slots=True)
class Inference:
    """How sure a difference is."""

    interval95: Interval | None = None  # None: there is too little to tell
    p_value: float | None = None  # two-sided; None with the interval


def student(strata: Mapping[str, FloatArray]) -> Inference:
    """Of the mean over strata of their means, from independent values of shape (n,) in each.

    Student's t; with several strata Welch's, whose degrees of freedom are Satterthwaite's (1946,
    Biometrics Bulletin 2:110). Of paired differences it is the paired t-test. Nothing where a
    stratum has a single value, or nothing varies: there is no spread to judge by.
    """
    if not strata or min(len(each) for each in strata.values()) < 2:
        return Inference()
    squares = np.array([each.var(ddof=1) / len(each) for each in strata.values()])
    scale = float(max(np.abs(each).max() for each in strata.values()))
    error = math.sqrt(squares.sum()) / len(strata)
    if error <= 1e-12 * scale:  # rounding
        return Inference()
    freedom = np.array([len(each) - 1 for each in strata.values()])
    degrees = float(squares.sum() ** 2 / (squares**2 / freedom).sum())
    mean = float(np.mean([each.mean() for each in strata.values()]))
    return of_mean(mean, error=error, degrees=degrees)


def of_mean(mean: float, *, error: float, degrees: float) -> Inference:
    """Student's, from a mean's standard error above 0 and its degrees of freedom."""
    # Here, since importing scipy takes a while and most commands need none of it.
    from scipy.special import stdtr, stdtrit

    half = float(stdtrit(degrees, 0.975)) * error
    p_value = 2 * float(stdtr(degrees, -abs(mean) / error))
    return Inference((mean - half, mean + half), p_value)


def return_intervals95(returns: Mapping[str, FloatArray]) -> Intervals:
    """Of mean returns over tasks, and of each task, from `averaged_by_goal`."""
    per_task = {task: student({task: values}).interval95 for task, values in returns.items()}
    return Intervals(method="Student", mean=student(returns).interval95, per_task=per_task)


def returns_by_goal(result: Result) -> dict[str, FloatArray]:
    """The returns of a run's evaluation episodes, see `averaged_by_goal`."""
    goals: dict[str, dict[int, list[float]]] = {}
    for row in result.episodes:
        if row.phase == "evaluate":
            goals.setdefault(row.task, {}).setdefault(row.variant, []).append(row.return_)
    return averaged_by_goal(goals)


def averaged_by_goal(
    returns: Mapping[str, Mapping[int, Sequence[float]]],
) -> dict[str, FloatArray]:
    """Each task's mean return by goal, shape (goals,); of a task with one goal by episode.

    `returns` are those of the episodes, by task and variant.
    """
    return {
        task: np.array(
            [np.mean(each) for each in of.values()] if len(of) > 1 else next(iter(of.values()))
        )
        for task, of in returns.items()
    }


def of_success(strata: Mapping[str, FloatArray]) -> Inference:
    """Of a difference of success rates, from differences of paired goals, -1 to 1, by task.

    Bonett & Price's adjusted Wald interval (2012, Statistics in Medicine 31:479): as if there
    were two more goals in all, one won by either. With several tasks the two are shared among
    them, as Price & Bonett do (2004, Computational Statistics & Data Analysis 45:449). So no
    number of equal differences makes the interval vanish. Nothing below five goals in all.
    """
    goals = {task: len(each) for task, each in strata.items()}
    if sum(goals.values()) < LEAST_GOALS:
        return Inference()
    means = np.array([each.mean() for each in strata.values()])
    squares = np.array([np.mean(each**2) for each in strata.values()])
    weights = np.array(list(goals.values()), np.float64)
    if weights.min() < LEAST_IN_STRATUM:  # too few to know how a task's goals vary
        weights = np.array([weight_of_all(list(goals.values()))])
        means, squares = means.mean(keepdims=True), squares.mean(keepdims=True)
    more = 2 / len(weights)
    means = means * weights / (weights + more)
    squares = (squares * weights + more) / (weights + more)
    error = math.sqrt(((squares - means**2) / (weights + more)).sum()) / len(weights)
    middle = float(means.mean())
    low, high = middle - Z95 * error, middle + Z95 * error
    return Inference((max(-1.0, low), min(1.0, high)), 2 * NormalDist().cdf(-abs(middle) / error))
