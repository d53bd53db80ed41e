"""Success: the share of planned goals that a frozen agent reaches."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from reglue.errors import UsageError
from reglue_bench.formatting import percent, percents, plural, points
from reglue_bench.measures.compare import (
    Cell,
    Pairs,
    Successes,
    Units,
    goals_per_task,
    paired_goal_success,
    successes,
)
from reglue_bench.results.episodes import EpisodeRow
from reglue_bench.results.measure import Interval, Measure, TaskScore
from reglue_bench.results.result import Result
from reglue_bench.statistics import LEAST_GOALS, of_success


def evaluated(result: Result) -> Iterable[EpisodeRow]:
    """The episodes that are judged."""
    return (row for row in result.episodes if row.phase == "evaluate")


def _score(result: Result) -> tuple[float | None, Interval | None]:
    return result.mean_success_rate, result.intervals95.mean if result.intervals95 else None


def _per_task(result: Result) -> dict[str, TaskScore]:
    intervals, goals = result.success.intervals95_per_task, goals_per_task(result)
    return {
        task: TaskScore(rate, intervals[task], plural(goals[task], "goal"))
        for task, rate in result.success_rate_per_task.items()
    }


def _read(result: Result) -> Successes:
    """Success by (task, variant, repeat, place): each run plays its cells in its own order."""
    cells: dict[Cell, bool] = {}
    places: dict[tuple[str, int, int], int] = {}
    for row in evaluated(result):
        goal = (row.task, row.variant, row.repeat)
        places[goal] = places.get(goal, -1) + 1
        cells[(*goal, places[goal])] = row.success
    return successes(result, cells)


def _pair(run: Units, reference: Units) -> Pairs:
    pairs = paired_goal_success([run, reference])
    if not pairs:
        raise UsageError("the runs have no evaluation cell in common and cannot be compared")
    return {task: (rates[0], rates[1]) for task, rates in pairs.items()}


def _least_p(goals: int) -> float:
    found = of_success({"": np.ones(goals)})
    return 1.0 if found.p_value is None else found.p_value


SUCCESS = Measure(
    name="success",
    unit="goal",
    least=LEAST_GOALS,
    enough="five goals",
    score=_score,
    amount=percent,
    amounts=percents,
    difference=points,
    is_rate=True,
    per_task=_per_task,
    read=_read,
    pair=_pair,
    infer=of_success,
    improves=False,
    least_p=_least_p,
)
