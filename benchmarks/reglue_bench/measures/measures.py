"""The measures of our procedures: success, returns and performance."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator
from dataclasses import replace

import numpy as np

from reglue_bench.formatting import percent, percents, points
from reglue_bench.results import scores
from reglue_bench.results.episodes import EpisodeRow
from reglue_bench.results.result import Measure, Result
from reglue_bench.results.scores import PerformanceScore, UnitScore
from reglue_bench.statistics import LEAST_GOALS, of_success, student


def evaluated(result: Result) -> Iterable[EpisodeRow]:
    """The episodes that are judged."""
    return (row for row in result.episodes if row.phase == "evaluate")


def _successes(result: Result) -> Iterator[UnitScore]:
    for row in evaluated(result):
        yield _episode(row, float(row.success))


def _returns(result: Result) -> Iterator[UnitScore]:
    """An episode that was not played to its end has the worst return, if one is declared."""
    rows, declared = list(evaluated(result)), result.parameters.get("worst_performance")
    worst: dict[str, float] = {}
    if isinstance(declared, int | float):  # it may lie above what was seen
        for row in rows:
            worst[row.task] = min(worst.get(row.task, float(declared)), row.return_)
    for row in rows:
        yield _episode(row, row.return_ if row.status == "ok" else worst.get(row.task))


def _episode(row: EpisodeRow, value: float | None) -> UnitScore:
    return UnitScore(row.task, row.variant, row.repeat, row.seed, value, row.status)


def _performances(result: Result) -> Iterator[UnitScore]:
    for run in result.score_as(PerformanceScore).runs:
        yield UnitScore("", run.variant or 0, run.run, None, run.performance, run.status)


def measure_text(score: PerformanceScore) -> str:
    """`mean return over the last 100 episodes of a run`."""
    kind, _, last = score.metric.partition(":")
    which = f"all {score.quota:,}" if kind == "all" else f"the last {int(last):,}"
    what = "mean return" if score.counted_in == "episodes" else "mean reward per step"
    one = "" if score.runs[0].variant is None else ", which plays one variant"
    return f"{what} over {which} {score.counted_in} of a run{one}"


def _goals(result: Result) -> Hashable:
    return result.goals_sha256


def _plan(result: Result) -> Hashable:
    return result.plan_sha256


def _goals_and_metric(result: Result) -> Hashable:
    score, parameters = result.score_as(PerformanceScore), result.parameters
    others = map(parameters.get, ("episode_limit", "worst_performance", "variants"))
    return result.goals_sha256, score.counted_in, score.quota, score.metric, *others


def _least_p(goals: int) -> float:
    inference = of_success({"": np.ones(goals)})
    return 1.0 if inference.p_value is None else inference.p_value


SUCCESS = Measure(
    shown_by="reglue_bench.renderers.renderer:SUCCESS",
    name=scores.SUCCESS,
    unit="goal",
    least=LEAST_GOALS,
    enough="five goals",
    amount=percent,
    amounts=percents,
    difference=points,
    is_rate=True,
    read=_successes,
    alike=_goals,
    infer=of_success,
    improves=False,
    least_p=_least_p,
)
"""The share of planned goals that a frozen agent reaches."""

RETURN = Measure(
    shown_by="reglue_bench.renderers.renderer:RETURN",
    name=scores.MEAN_RETURN,
    unit="episode",
    least=2,
    enough="two episodes",
    read=_returns,
    alike=_plan,
    infer=student,
)
"""Returns of a frozen agent in environments that never report success."""

SEEDED_RETURN = replace(
    RETURN,
    shown_by="reglue_bench.renderers.renderer:SEEDED_RETURN",
    alike=_goals,
    by_seed=True,
)
"""Returns of a frozen agent over episodes whose seeds are known."""

PERFORMANCE = Measure(
    shown_by="reglue_bench.renderers.renderer:PERFORMANCE",
    name="performance",
    unit="run",
    least=2,
    enough="two runs of either",
    entrant="agent",
    planned="runs",
    read=_performances,
    alike=_goals_and_metric,
    infer=student,
)
"""The performance of an agent while it learns, over independent runs."""
