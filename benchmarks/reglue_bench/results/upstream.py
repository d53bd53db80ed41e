"""What `metaworld.evaluation` would make of a run's episodes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from reglue_bench.plans.plan import PlanCell
from reglue_bench.results.first_finished import FirstFinished
from reglue_bench.results.result import UpstreamScore
from reglue_bench.runs.ledger import Row


@dataclass(frozen=True, slots=True)
class Judged:
    """One evaluation episode of a sub-environment; no row if it was not played."""

    env: int
    cell: PlanCell
    row: Row | None


def upstream_score(evaluations: Sequence[Sequence[Judged]], quota: int) -> UpstreamScore:
    """The means over evaluations, each the first `quota` episodes of a task to finish.

    Episodes come in the order of each sub-environment. What was not played is a failure:
    the divisor is the quota. Returns are those of the rows, sums of float64.
    """
    rates: dict[str, list[float]] = {}
    returns: list[float] = []
    for judged in evaluations:
        names = {each.env: each.cell.task for each in judged}
        finished = FirstFinished([names[env] for env in sorted(names)], quota)
        rows: dict[int, list[Row]] = {env: [] for env in names}
        for each in judged:
            if each.row is not None:
                finished.finish(each.env, each.row.steps)
                rows[each.env].append(each.row)
        for task, counted in finished.counted.items():
            of = [rows[env][episode] for env, episode in counted]
            rates.setdefault(task, []).append(sum(row.success for row in of) / quota)
            returns += [row.return_ for row in of if row.status == "ok"]
    per_task = {task: math.fsum(of) / len(of) for task, of in rates.items()}
    return UpstreamScore(
        mean_success_rate=math.fsum(per_task.values()) / len(per_task),
        mean_returns=math.fsum(returns) / len(returns) if returns else None,
        success_rate_per_task=per_task,
    )
