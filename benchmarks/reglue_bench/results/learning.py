"""The score of an online benchmark: a fold over its runs' rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import Literal

import numpy as np

from reglue_bench.plans.plan import Plan
from reglue_bench.procedures import Online, procedure_of
from reglue_bench.results.metrics import (
    FloatArray,
    binned,
    edges,
    mean_in_order,
    measured,
    pointwise95,
    t_interval95,
)
from reglue_bench.results.result import (
    AgentIdentity,
    Coverage,
    Curve,
    LearningRun,
    OnlineScore,
    Result,
)
from reglue_bench.results.success import RowCounts, is_agents_fault, what_was_run
from reglue_bench.runs.ledger import Row, Totals

Rewards = Callable[[int, int], FloatArray]
"""Every reward of a unit's try, step by step; see Ledger.rewards."""


def score_online(
    plan: Plan,
    rows: Iterable[Row],
    rewards: Rewards,
    *,
    agent: AgentIdentity,
    totals: Totals,
    versions: Mapping[str, str],
    fresh: Literal["process", "agent_init"],
) -> Result:
    """The result of an online benchmark so far, of its rows in the order of units and cells.

    A run that its agent's own fault ended, or that it gave up, is worth the plan's worst
    performance, and the mean is over all planned runs: nobody gains by leaving a run that goes
    badly. Where a run has no performance (an environment failed, it was not played, or no
    worst one is known) there is no mean over all; that of the completed runs stands apart.
    """
    procedure = procedure_of(plan)
    assert isinstance(procedure, Online), plan.procedure
    counts = RowCounts()
    runs = list(_runs(procedure, counts.over(rows), rewards))
    online = _online(procedure, runs, fresh, worst=_worst(plan))
    return Result(
        **what_was_run(plan, counts, agent=agent, totals=totals, versions=versions),
        complete=all(run.status != "missing" for run in runs),
        mean_success_rate=None,
        mean_returns=None,
        success_rate_per_task={},
        returns_per_task={},
        intervals95=None,
        completed_only=None,
        before_adaptation=None,
        online=online,
        coverage=_coverage(procedure, online),
        status_counts=dict(sorted(Counter(run.status for run in runs).items())),
    )


def _runs(procedure: Online, rows: Iterable[Row], rewards: Rewards) -> Iterator[LearningRun]:
    """Every run of the plan; the rows of one at a time."""
    played = groupby(rows, key=lambda row: row.unit)
    following = next(played, None)
    for unit in range(procedure.units):
        if following is not None and following[0] == unit:
            yield _run(procedure, unit, list(following[1]), rewards)
            following = next(played, None)
        else:
            yield _run(procedure, unit, [], rewards)


def _run(procedure: Online, unit: int, rows: Sequence[Row], rewards: Rewards) -> LearningRun:
    faults = [row.status for row in rows if row.status != "ok"]
    status = faults[0] if faults else "ok" if rows else "missing"
    attempt = rows[0].attempt if rows else 0
    earned: Sequence[float] | FloatArray  # what the measure is a mean of
    if procedure.episodes:
        earned = line = [row.return_ for row in rows if row.status == "ok"]
    else:
        earned = rewards(unit, attempt)
        line = binned(earned, procedure.steps)
    last = measured(procedure.metric, procedure.quota)
    return LearningRun(
        run=unit,
        attempt=attempt,
        status=status,
        performance=mean_in_order(earned[-last:]) if status == "ok" else None,
        episodes=len(rows),
        steps=sum(row.steps for row in rows),
        successes=sum(row.success for row in rows),
        line=line,
        episode_steps=[row.steps for row in rows if row.status == "ok" and procedure.episodes],
    )


def _worst(plan: Plan) -> float | None:
    worst = plan.parameters.get("worst_performance")
    return None if worst is None else float(worst)


def _online(
    procedure: Online,
    played: list[LearningRun],
    fresh: Literal["process", "agent_init"],
    *,
    worst: float | None,
) -> OnlineScore:
    completed = [run for run in played if run.status == "ok"]
    measured_ones = [run.performance for run in completed if run.performance is not None]
    if worst is not None:  # a declared one may lie above what the agent came to
        worst = min([worst, *measured_ones])
    runs = [
        run.model_copy(update={"performance": worst}) if is_agents_fault(run.status) else run
        for run in played
    ]
    performances = [run.performance for run in runs if run.performance is not None]
    is_whole = len(performances) == len(runs)
    at = list(range(1, procedure.episodes + 1)) or edges(procedure.steps)[1:]
    return OnlineScore(
        counted_in="episodes" if procedure.episodes else "steps",
        quota=procedure.quota,
        metric=procedure.metric,
        fresh_agent=fresh,
        performance=mean_in_order(performances) if is_whole else None,
        interval95=t_interval95(performances) if is_whole else None,
        withheld=_withheld(runs),
        worst_performance=worst,
        completed_only=mean_in_order(measured_ones) if measured_ones else None,
        runs=runs,
        curve=_curve(at, [run.line for run in completed]),
        episode_steps=(
            _curve(at, [run.episode_steps for run in completed]) if procedure.episodes else None
        ),
    )


def _withheld(runs: Sequence[LearningRun]) -> str:
    """Why not every run has a performance; empty if every one has."""
    without = [run.status for run in runs if run.performance is None]
    reasons = {
        "the agent's own fault ended {}, and no worst performance is known: declare one with "
        "--worst-performance": sum(map(is_agents_fault, without)),
        "an environment failed in {}": without.count("environment_error"),
        "{} not played": without.count("missing"),
    }
    told = [
        words.format(f"{count} of {len(runs)} runs") for words, count in reasons.items() if count
    ]
    return "; ".join(told)


def _curve(at: list[int], lines: Sequence[Sequence[float]]) -> Curve:
    if not lines:
        return Curve(at=[], mean=[], interval95=[])
    stacked = np.array(lines, np.float64)  # (runs, points)
    return Curve(at=at, mean=stacked.mean(axis=0).tolist(), interval95=pointwise95(stacked))


def _coverage(procedure: Online, online: OnlineScore) -> Coverage:
    """Of runs. Where a run is counted in steps, it is open how many goals it comes to."""
    met = {(cell.task, cell.variant) for cell in procedure.cells(0)}
    return Coverage(
        cells_planned=procedure.units,
        cells_completed=len(online.completed),
        goals_planned=len(met) or procedure.goals,
        goals_total=procedure.goals,
    )
