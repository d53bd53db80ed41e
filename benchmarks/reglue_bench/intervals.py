"""95 % confidence intervals of success rates for one checkpoint.

The unit is the goal: episodes of one goal are averaged before they come here.
Tasks are fixed strata of equal weight: nothing is said about tasks not played.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from statistics import NormalDist

import numpy as np

from reglue.errors import UsageError
from reglue_bench.result import Interval, Intervals

_Z95 = NormalDist().inv_cdf(0.975)

METHOD = "goals only: Wilson per task, MOVER over tasks"


def intervals95(planned_success: Mapping[str, Sequence[float]]) -> Intervals:
    """Intervals from the success of every planned goal, 0 to 1 (0 where it is missing).

    `planned_success` maps a task to one number for each of its goals. Raises
    UsageError where there is no task, or a task without goals.
    """
    if not planned_success:
        raise UsageError("an interval needs a task; the plan has none")
    rates = {task: _mean(task, goals) for task, goals in planned_success.items()}
    per_task = {
        task: wilson(float(np.sum(goals)), len(goals)) for task, goals in planned_success.items()
    }
    return Intervals(
        method=METHOD,
        mean_success_rate=mover(list(rates.values()), list(per_task.values())),
        success_rate_per_task=per_task,
    )


def wilson(successes: float, goals: int) -> Interval:
    """Wilson's score interval (Wilson 1927, JASA 22:209; Brown, Cai & DasGupta 2001).

    `successes` may be a fraction: a goal won in 2 of 3 episodes adds 2/3. A mean of
    values in [0, 1] varies no more than a coin of the same mean, so that is safe.
    """
    # Five lines rather than statsmodels' function: importing that takes a second of each
    # evaluation. A test compares the two.
    rate, share = successes / goals, _Z95**2 / goals
    middle = (rate + share / 2) / (1 + share)
    reach = _Z95 * math.sqrt((rate * (1 - rate) + share / 4) / goals) / (1 + share)
    return max(0.0, middle - reach), min(1.0, middle + reach)


def mover(rates: Sequence[float], intervals: Sequence[Interval]) -> Interval:
    """The interval of the mean of independent rates from the interval of each.

    Method of variance estimates recovery: Zou & Donner 2008, Statistics in
    Medicine 27:1693, with equal weights. Of one rate it is that rate's interval.
    """
    rate = np.asarray(rates, np.float64)  # (tasks,)
    low, high = np.asarray(intervals, np.float64).T  # (tasks,) each
    middle = float(rate.mean())
    down = float(np.linalg.norm(rate - low)) / len(rate)
    up = float(np.linalg.norm(high - rate)) / len(rate)
    return max(0.0, middle - down), min(1.0, middle + up)


def _mean(task: str, goals: Sequence[float]) -> float:
    if not len(goals):
        raise UsageError(f"{task} has no planned goal, so no interval")
    if min(goals) < 0 or max(goals) > 1:
        raise UsageError(f"{task}: got success {min(goals)} to {max(goals)}, wanted 0 to 1")
    return float(np.mean(goals))
