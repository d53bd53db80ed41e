"""95 % confidence intervals and p-values: of success rates, of mean returns, and of differences.

The unit is the goal: episodes of one goal are averaged before they come here.
Tasks are fixed strata of equal weight: nothing is said about tasks not played.
Each p-value of a difference is its interval's inversion, so they agree: an interval of 95 %
leaves 0 out if and only if p < 0.05.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import NormalDist
from typing import TypeAlias

import numpy as np
from pydantic import BaseModel

from reglue.errors import UsageError
from reglue_bench.float_range import FloatArray, scaled, unit_of, within

Interval: TypeAlias = tuple[float, float]

Z95 = NormalDist().inv_cdf(0.975)

METHOD = "goals only: Wilson per task, Price & Bonett over tasks"

LEAST_IN_STRATUM = 10
"""Goals of a task from which it is known how they vary."""

LEAST_GOALS = 5
"""The fewest goals for which an interval of a difference of success rates has its coverage."""


class Intervals(BaseModel, frozen=True, extra="forbid", allow_inf_nan=False):
    """95 % confidence intervals of a mean over tasks; None: too few goals or episodes."""

    method: str  # how they are computed
    mean: Interval | None  # of the mean over tasks
    per_task: dict[str, Interval | None]  # of each task's score


def intervals95(planned_success: Mapping[str, Sequence[float]]) -> Intervals:
    """Intervals from the success of every planned goal, 0 to 1 (0 where it is missing).

    `planned_success` maps a task to one number for each of its goals. Raises
    UsageError where there is no task, or a task without goals.
    """
    if not planned_success:
        raise UsageError(got="a plan without tasks", wanted="one or more for an interval")
    for task, goals in planned_success.items():
        _check(task, goals)
    per_task = {
        task: wilson(float(np.sum(goals)), len(goals)) for task, goals in planned_success.items()
    }
    return Intervals(
        method=METHOD,
        mean=over_tasks(
            [float(np.sum(each)) for each in planned_success.values()],
            [len(each) for each in planned_success.values()],
        ),
        per_task=dict(per_task),
    )


def wilson(successes: float, goals: float) -> Interval:
    """Wilson's score interval (Wilson 1927, JASA 22:209; Brown, Cai & DasGupta 2001).

    `successes` may be a fraction: a goal won in 2 of 3 episodes adds 2/3. A mean of
    values in [0, 1] varies no more than a coin of the same mean, so that is safe. The interval
    contains the rate, also at 0 and 1, where rounding would leave it out.
    """
    # Five lines rather than statsmodels' function: importing that takes a second of each
    # evaluation. A test compares the two.
    rate, share = successes / goals, Z95**2 / goals
    middle = (rate + share / 2) / (1 + share)
    reach = Z95 * math.sqrt((rate * (1 - rate) + share / 4) / goals) / (1 + share)
    return min(rate, max(0.0, middle - reach)), max(rate, min(1.0, middle + reach))


def over_tasks(successes: Sequence[float], goals: Sequence[int]) -> Interval:
    """The interval of the mean of tasks' success rates, each of equal weight.

    Price & Bonett 2004, Computational Statistics & Data Analysis 45:449: four goals more in
    all, of which two are won, shared among the tasks. Where a task has fewer than ten goals,
    what they vary by is not known well enough: then Wilson's, as of one task with all goals,
    which is safe. Of one task it is Wilson's too.
    """
    won, planned = np.asarray(successes, np.float64), np.asarray(goals, np.float64)
    tasks = len(planned)
    if tasks == 1 or planned.min() < LEAST_IN_STRATUM:
        weight = weight_of_all(goals)
        return wilson(float((won / planned).mean()) * weight, weight)
    weights = planned + 4 / tasks
    rates = (won + 2 / tasks) / weights
    reach = Z95 * math.sqrt((rates * (1 - rates) / weights).sum()) / tasks
    middle = float(rates.mean())
    return max(0.0, middle - reach), min(1.0, middle + reach)


def weight_of_all(goals: Sequence[int]) -> float:
    """The number of goals of one task that carry as much information as these of several tasks."""
    return len(goals) ** 2 / math.fsum(1 / each for each in goals)


@dataclass(frozen=True, slots=True)
class Inference:
    """The interval and p-value of a difference."""

    interval95: Interval | None = None  # None: there is too little to tell
    p_value: float | None = None  # two-sided; None with the interval

    def times(self, unit: float) -> Inference:
        """The inference in the unit by which the numbers were divided."""
        if unit == 1 or self.interval95 is None:
            return self
        low, high = self.interval95
        return replace(self, interval95=(within(low * unit), within(high * unit)))


def student(strata: Mapping[str, FloatArray]) -> Inference:
    """Inference about the mean of the strata's means, from independent values, (n,) each.

    Student's t; with several strata Welch's, whose degrees of freedom are Satterthwaite's (1946,
    Biometrics Bulletin 2:110). Of paired differences it is the paired t-test. Nothing if a
    stratum has a single value, or nothing varies: there is no spread to judge by.
    """
    if not strata or min(len(each) for each in strata.values()) < 2:
        return Inference()
    if (unit := unit_of(*strata.values())) != 1:
        return student({task: each / unit for task, each in strata.items()}).times(unit)
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
    # Imported here: SciPy is slow to import, and most commands do not need it.
    from scipy.special import stdtr, stdtrit

    half = float(stdtrit(degrees, 0.975)) * error
    p_value = 2 * float(stdtr(degrees, -abs(mean) / error))
    return Inference((mean - half, mean + half), p_value)


def return_intervals95(returns: Mapping[str, FloatArray], *, lowest: object = None) -> Intervals:
    """Intervals of mean returns, over tasks and for each task, from `averaged_by_goal`.

    They are `cut_at` the `lowest` return that is possible, if that is known.
    """
    bound = bound_of(lowest, *returns.values())
    per_task = {task: student({task: values}).interval95 for task, values in returns.items()}
    return Intervals(
        method="Student",
        mean=cut_at(bound, student(returns).interval95),
        per_task={task: cut_at(bound, each) for task, each in per_task.items()},
    )


def bound_of(lowest: object, *values: FloatArray | Sequence[float]) -> float:
    """The `lowest` value that is possible; minus infinity if none is known, or one lies below it.

    A plan's worst performance is one, unless it was declared too high.
    """
    if not isinstance(lowest, int | float):
        return -math.inf
    least = min((float(np.min(each)) for each in values if len(each)), default=math.inf)
    return float(lowest) if lowest <= least else -math.inf


def cut_at(lowest: float, interval: Interval | None) -> Interval | None:
    """The part of an interval that is possible, which holds the truth as often as the whole."""
    return None if interval is None else (max(lowest, interval[0]), interval[1])


def averaged_by_goal(returns: Mapping[str, Mapping[int, Sequence[float]]]) -> dict[str, FloatArray]:
    """Each task's mean return by goal, (goals,); by episode if the task has one goal.

    `returns` are those of the episodes, by task and variant.
    """
    return {
        task: np.array(
            [scaled(np.mean, each) for each in of.values()]
            if len(of) > 1
            else next(iter(of.values()))
        )
        for task, of in returns.items()
    }


def of_success(strata: Mapping[str, FloatArray]) -> Inference:
    """Inference about a difference of success rates, from paired goals (-1 to 1) by task.

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


def _check(task: str, goals: Sequence[float]) -> None:
    if not len(goals):
        raise UsageError(f"{task} has no planned goal, so no interval")
    if min(goals) < 0 or max(goals) > 1:
        raise UsageError(task, got=f"success {min(goals)} to {max(goals)}", wanted="0 to 1")
