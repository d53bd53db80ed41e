"""Success: the share of planned goals that a frozen agent reaches."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from reglue.errors import UsageError
from reglue_bench.formatting import percent, percents, points
from reglue_bench.measures.compare import (
    Cell,
    Successes,
    paired_goal_success,
    successes,
)
from reglue_bench.results import scores
from reglue_bench.results.episodes import EpisodeRow
from reglue_bench.results.result import Measure, Pairs, Result, Units
from reglue_bench.statistics import LEAST_GOALS, of_success


def evaluated(result: Result) -> Iterable[EpisodeRow]:
    """The episodes that are judged."""
    return (row for row in result.episodes if row.phase == "evaluate")


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
    inference = of_success({"": np.ones(goals)})
    return 1.0 if inference.p_value is None else inference.p_value


SUCCESS = Measure(
    shown_by="reglue_bench.renderers.success_renderer:SUCCESS",
    name=scores.SUCCESS,
    unit="goal",
    least=LEAST_GOALS,
    enough="five goals",
    amount=percent,
    amounts=percents,
    difference=points,
    is_rate=True,
    read=_read,
    pair=_pair,
    infer=of_success,
    improves=False,
    least_p=_least_p,
)
