"""How sure a score is: success by goal, and from it intervals and comparisons.

Tasks are fixed strata, and the unit is the goal: the episodes of one goal (repeats,
evaluation episodes) are averaged first, since they rise and fall together. Nothing
here looks at returns: success ends an episode and cuts its return short.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from reglue_bench.results.episodes import EpisodeRow
from reglue_bench.results.result import Result
from reglue_bench.statistics.intervals import METHOD, intervals95, over_tasks, wilson

__all__ = [
    "METHOD",
    "goal_success",
    "goals_per_task",
    "intervals95",
    "over_tasks",
    "paired_goal_success",
    "same_plan",
    "success_by_goal",
    "wilson",
]

FloatArray: TypeAlias = npt.NDArray[np.float64]
Goal: TypeAlias = tuple[str, int]  # task, variant
Cell: TypeAlias = tuple[str, int, int, int]  # a goal, and two numbers that name an episode of it


def goal_success(episodes: Iterable[EpisodeRow]) -> dict[str, FloatArray]:
    """Each task's success by goal, shape (goals,), 0 to 1, in order of variants.

    Only evaluation episodes that were played: the caller adds what is missing.
    """
    goals: dict[Goal, list[bool]] = {}
    for row in _evaluated(episodes):
        goals.setdefault((row.task, row.variant), []).append(row.success)
    means: dict[str, list[float]] = {}
    for task, variant in sorted(goals):
        means.setdefault(task, []).append(float(np.mean(goals[task, variant])))
    return {task: np.array(values) for task, values in means.items()}


def same_plan(results: Sequence[Result]) -> bool:
    """Whether all of them played one plan, so that a cell of one is a cell of each."""
    return len({result.plan_sha256 for result in results}) == 1


def goals_per_task(result: Result) -> dict[str, int]:
    """How many goals each task was to play."""
    planned = result.coverage.episodes_planned
    return {task: len(planned[task]) for task in result.success_rate_per_task}


def success_by_goal(results: Sequence[Result]) -> dict[str, dict[int, FloatArray]]:
    """Success of every run, shape (runs,), by task and variant, of goals that were played.

    On one plan every planned episode counts, and what a run misses is its failure. On
    different plans only the cells that all have: same task, variant and repeat, and place
    among the episodes of these. Runs of other goals or another horizon have none in common.
    """
    if len({result.goals_sha256 for result in results}) > 1:
        return {}  # variant 3 of one is another goal than variant 3 of the other
    shared = same_plan(results)
    runs = [_by_cell(result.episodes) for result in results]
    cells = set(runs[0]).union(*runs) if shared else set(runs[0]).intersection(*runs)
    goals: dict[Goal, list[list[bool]]] = {}  # an entry an episode, in it one a run
    for cell in sorted(cells):
        goals.setdefault(cell[:2], []).append([run.get(cell, False) for run in runs])
    planned = results[0].coverage.episodes_planned
    found: dict[str, dict[int, FloatArray]] = {}
    for (task, variant), rows in goals.items():
        success = np.sum(rows, axis=0) / (planned[task][variant] if shared else len(rows))
        found.setdefault(task, {})[variant] = success
    return {task: found[task] for task in results[0].success_rate_per_task if task in found}


def paired_goal_success(results: Sequence[Result]) -> dict[str, FloatArray]:
    """Each task's success, shape (runs, goals): a column is one goal, as every run played it.

    As `success_by_goal`; on one plan also the goals that no run has played, at the end.
    """
    found = {task: list(goals.values()) for task, goals in success_by_goal(results).items()}
    if not same_plan(results):
        return {task: np.stack(columns, axis=1) for task, columns in found.items()}
    return {
        task: _filled(found.get(task, []), runs=len(results), goals=goals)
        for task, goals in goals_per_task(results[0]).items()
    }


def _evaluated(episodes: Iterable[EpisodeRow]) -> list[EpisodeRow]:
    return [row for row in episodes if row.phase == "evaluate"]


def _by_cell(episodes: Iterable[EpisodeRow]) -> dict[Cell, bool]:
    """Success by (task, variant, repeat, place): each run plays its cells in its own order."""
    rows = sorted(_evaluated(episodes), key=lambda row: (row.unit, row.k))
    cells: dict[Cell, bool] = {}
    places: dict[tuple[str, int, int], int] = {}
    for row in rows:
        goal = (row.task, row.variant, row.repeat)
        places[goal] = places.get(goal, -1) + 1
        cells[(*goal, places[goal])] = row.success
    return cells


def _filled(columns: Sequence[FloatArray], *, runs: int, goals: int) -> FloatArray:
    """Shape (runs, goals): goals that no run has played are failures of each."""
    missing = goals - len(columns)
    return np.stack([*columns, *[np.zeros(runs)] * missing], axis=1)
