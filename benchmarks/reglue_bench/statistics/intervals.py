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
from reglue_bench.results.result import Interval, Intervals

Z95 = NormalDist().inv_cdf(0.975)

METHOD = "goals only: Wilson per task, Price & Bonett over tasks"

LEAST_IN_STRATUM = 10
"""Goals of a task from which it is known how they vary."""


def intervals95(planned_success: Mapping[str, Sequence[float]]) -> Intervals:
    """Intervals from the success of every planned goal, 0 to 1 (0 where it is missing).

    `planned_success` maps a task to one number for each of its goals. Raises
    UsageError where there is no task, or a task without goals.
    """
    if not planned_success:
        raise UsageError("an interval needs a task; the plan has none")
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
    values in [0, 1] varies no more than a coin of the same mean, so that is safe.
    """
    # Five lines rather than statsmodels' function: importing that takes a second of each
    # evaluation. A test compares the two.
    rate, share = successes / goals, Z95**2 / goals
    middle = (rate + share / 2) / (1 + share)
    reach = Z95 * math.sqrt((rate * (1 - rate) + share / 4) / goals) / (1 + share)
    return max(0.0, middle - reach), min(1.0, middle + reach)


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
    """How many goals of one task say as much as these of several, whose means weigh alike."""
    return len(goals) ** 2 / math.fsum(1 / each for each in goals)


def _check(task: str, goals: Sequence[float]) -> None:
    if not len(goals):
        raise UsageError(f"{task} has no planned goal, so no interval")
    if min(goals) < 0 or max(goals) > 1:
        raise UsageError(f"{task}: got success {min(goals)} to {max(goals)}, wanted 0 to 1")
