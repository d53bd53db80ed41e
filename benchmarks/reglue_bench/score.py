"""The score: a fold over a plan's cells and a ledger's rows."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from reglue_bench.intervals import intervals95
from reglue_bench.ledger import Row, Totals
from reglue_bench.plan import Plan, PlanCell
from reglue_bench.procedures import procedure_of
from reglue_bench.result import (
    AgentIdentity,
    Coverage,
    EpisodeRow,
    FaultCount,
    Rates,
    Result,
    Seconds,
    StepCounts,
    UpstreamScore,
)
from reglue_bench.upstream import Judged, upstream_score


@dataclass(frozen=True, slots=True)
class _Planned:
    """A cell, and its row if it was played."""

    unit: int
    cell: PlanCell
    row: Row | None

    @property
    def ok(self) -> bool:
        return self.row is not None and self.row.status == "ok"

    @property
    def success(self) -> float:
        return float(self.row is not None and self.row.success)


def score(
    plan: Plan,
    rows: Sequence[Row],
    *,
    agent: AgentIdentity,
    totals: Totals,
    versions: Mapping[str, str],
) -> Result:
    """The result of a run so far. A planned cell without a row is a failure."""
    cells = _planned(plan, rows)
    judged = [each for each in cells if each.cell.phase == "evaluate"]
    before = [each for each in cells if each.cell.phase == "evaluate_before"]
    played = [each for each in judged if each.ok]
    rates = _rates(judged)
    returns = _returns(judged)
    return Result(
        **what_was_run(plan, rows, agent=agent, totals=totals, versions=versions),
        complete=all(each.row for each in cells),
        mean_success_rate=rates.mean_success_rate,
        success_rate_per_task=rates.success_rate_per_task,
        mean_returns=_mean(
            [mean for each in returns.values() if (mean := _mean(each)) is not None]
        ),
        returns_per_task={task: _mean(each) for task, each in returns.items()},
        episode_returns_per_task=returns,
        intervals95=intervals95(_by_goal(judged)),
        completed_only=_rates(played),
        before_adaptation=_rates(before) if before else None,
        upstream=_upstream(plan, judged) if plan.estimator == "metaworld" else None,
        coverage=Coverage(
            cells_planned=len(judged),
            cells_completed=len(played),
            goals_planned=len({(each.cell.task, each.cell.variant) for each in judged}),
            goals_total=procedure_of(plan).goals,
            episodes_planned=_episodes_planned(judged),
        ),
        status_counts=_statuses(judged),
        episodes=[_episode(each.cell, each.row) for each in cells if each.row],
    )


def what_was_run(
    plan: Plan,
    rows: Sequence[Row],
    *,
    agent: AgentIdentity,
    totals: Totals,
    versions: Mapping[str, str],
) -> dict[str, Any]:
    """The fields of a result that say what was run and what it took, for any procedure."""
    return {
        "benchmark": plan.benchmark,
        "procedure": plan.procedure,
        "parameters": dict(plan.parameters),
        "seed": plan.seed,
        "slots": plan.slots,
        "plan_sha256": plan.sha256,
        "goals_sha256": plan.goals_sha256,
        "agent": agent,
        "baseline": list(plan.baseline),
        "faults": _faults(rows),
        "clipped_steps": sum(row.clipped for row in rows),
        "steps": StepCounts(counted=sum(row.steps for row in rows), executed=totals.executed),
        "seconds": Seconds(
            wall=totals.wall_s,
            agent=totals.agent_s,
            environment=totals.environment_s,
            glue=max(0.0, totals.wall_s - totals.agent_s - totals.environment_s),
        ),
        "versions": dict(versions),
    }


def _planned(plan: Plan, rows: Sequence[Row]) -> list[_Planned]:
    """Every cell of the plan, in its order."""
    procedure = procedure_of(plan)
    known = {(row.unit, row.k): row for row in rows}
    return [
        _Planned(unit, cell, known.get((unit, cell.k)))
        for unit in range(procedure.units)
        for cell in procedure.cells(unit)
    ]


def _rates(cells: Sequence[_Planned]) -> Rates:
    """Success over the given cells: of each of their tasks, and the mean over tasks.

    Goals weigh alike, however often each was played: the interval's centre is the rate.
    """
    per_task = {task: math.fsum(of) / len(of) for task, of in _by_goal(cells).items()}
    return Rates(
        mean_success_rate=_mean(list(per_task.values())) or 0.0, success_rate_per_task=per_task
    )


def _upstream(plan: Plan, judged: Sequence[_Planned]) -> UpstreamScore:
    """A wave is an evaluation, and a slot a sub-environment; in MT a task is one."""
    if plan.procedure == "multi-task":
        episodes = [Judged(plan.tasks.index(e.cell.task), e.cell, e.row) for e in judged]
        return upstream_score([episodes], int(plan.parameters["num_episodes"]))
    waves: dict[int, list[Judged]] = {}
    for each in judged:
        waves.setdefault(each.unit, []).append(
            Judged(each.cell.k % plan.slots, each.cell, each.row)
        )
    return upstream_score(list(waves.values()), int(plan.parameters["evaluation_episodes"]))


def _returns(judged: Sequence[_Planned]) -> dict[str, list[float]]:
    returns: dict[str, list[float]] = {each.cell.task: [] for each in judged}
    for each in judged:
        if each.row is not None and each.ok:
            returns[each.cell.task].append(each.row.return_)
    return returns


def _by_goal(judged: Sequence[_Planned]) -> dict[str, list[float]]:
    """The success fraction of each planned goal, by task."""
    goals: dict[str, dict[int, list[float]]] = {}
    for each in judged:
        of = goals.setdefault(each.cell.task, {})
        of.setdefault(each.cell.variant, []).append(each.success)
    return {
        task: [math.fsum(flags) / len(flags) for _, flags in sorted(of.items())]
        for task, of in goals.items()
    }


def _episodes_planned(judged: Sequence[_Planned]) -> dict[str, dict[int, int]]:
    counts: dict[str, Counter[int]] = {}
    for each in judged:
        counts.setdefault(each.cell.task, Counter())[each.cell.variant] += 1
    return {task: dict(sorted(of.items())) for task, of in counts.items()}


def _statuses(judged: Sequence[_Planned]) -> dict[str, int]:
    counts = Counter(each.row.status if each.row else "missing" for each in judged)
    return dict(sorted(counts.items()))


def _brief(detail: str) -> str:
    """The line that says most: the first, or the last of a traceback."""
    lines = detail.strip().splitlines() or [""]
    return lines[-1 if lines[0].startswith("Traceback ") else 0][:200]


def _faults(rows: Sequence[Row]) -> list[FaultCount]:
    failed = [row for row in rows if row.status != "ok"]
    counts = Counter((row.status, _brief(row.detail)) for row in failed)
    return [
        FaultCount(status=status, detail=detail, count=count)
        for (status, detail), count in counts.most_common()
    ]


def _episode(cell: PlanCell, row: Row) -> EpisodeRow:
    given: dict[str, Any] = {  # by their names in result.json
        "unit": row.unit,
        "k": row.k,
        "try": row.attempt,
        "task": cell.task,
        "variant": cell.variant,
        "repeat": cell.repeat,
        "phase": cell.phase,
        "status": row.status,
        "success": row.success,
        "return": row.return_,
        "steps": row.steps,
    }
    return EpisodeRow(**given)


def _mean(values: Sequence[float]) -> float | None:
    """Exactly rounded, so that it does not depend on order; None of nothing."""
    return math.fsum(values) / len(values) if values else None
