"""The score that `metaworld.evaluation` would give a run's episodes: its estimator, not ours.

Its sub-environments step together. An episode finishes at the vector step that is the sum
of its own steps and of those before it in its sub-environment; the first so many of a name
count, in the order of (step, sub-environment). Where several sub-environments share a name,
fast successes so crowd out slow failures.

Only finish times matter, so episodes may be played in any order and on any machine.
"""

from __future__ import annotations

import math
from bisect import bisect_left, insort
from collections.abc import Sequence
from dataclasses import dataclass

from reglue_bench.float_range import mean
from reglue_bench.plans.plan import PlanCell
from reglue_bench.procedures.metaworld_sampling import MetaWorldSampling
from reglue_bench.procedures.procedure import Procedure
from reglue_bench.results.result import Result
from reglue_bench.results.scores import SuccessScore, Upstream
from reglue_bench.results.scoring import ScoreInputs, planned, score
from reglue_bench.runs.ledger import Row


def score_as_upstream(procedure: Procedure, played: ScoreInputs) -> Result:
    """The result of a run of upstream's draws, with upstream's score."""
    assert isinstance(procedure, MetaWorldSampling), procedure
    evaluations: dict[int, list[Judged]] = {}
    for unit, cell, row in planned(procedure, played.rows()):
        if cell.phase == "evaluate":
            evaluation, env = procedure.sub_environment(unit, cell)
            evaluations.setdefault(evaluation, []).append(Judged(env, cell, row))
    upstream = upstream_score(list(evaluations.values()), procedure.quota)
    result = score(procedure, played)
    beside = result.score_as(SuccessScore).model_copy(update={"upstream": upstream})
    return result.model_copy(update={"score": beside})


@dataclass(frozen=True, slots=True)
class Judged:
    """One evaluation episode of a sub-environment; no row if it was not played."""

    env: int
    cell: PlanCell
    row: Row | None


def upstream_score(evaluations: Sequence[Sequence[Judged]], quota: int) -> Upstream:
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
    return Upstream(
        mean_success_rate=math.fsum(per_task.values()) / len(per_task),
        mean_return=mean(returns) if returns else None,
        success_rate_per_task=per_task,
    )


class FirstFinished:
    """The quota of each name, and the episodes that have finished so far."""

    def __init__(self, names: Sequence[str], quota: int) -> None:
        self._names = names  # of the sub-environments
        self._quota = quota
        self._clocks = [0] * len(names)  # vector steps at which each may go on
        self._finished: dict[str, list[tuple[int, int, int]]] = {name: [] for name in names}
        self._episodes = [0] * len(names)

    def finish(self, env: int, steps: int) -> None:
        """The next episode of sub-environment `env` took so many steps."""
        self._clocks[env] += steps
        entry = (self._clocks[env], env, self._episodes[env])
        insort(self._finished[self._names[env]], entry)
        self._episodes[env] += 1

    def give_up(self, env: int, steps: int) -> None:
        """The next episode of `env` was left after so many steps, as it could not count."""
        self._clocks[env] += steps

    def may_count(self, env: int, steps: int = 0) -> bool:
        """Whether the episode of `env` that has gone on for `steps` can still count."""
        soonest = (self._clocks[env] + steps + 1, env)
        return bisect_left(self._finished[self._names[env]], soonest) < self._quota

    @property
    def is_over(self) -> bool:
        """Whether every name has its quota; upstream stops then."""
        return all(len(finished) >= self._quota for finished in self._finished.values())

    @property
    def counted(self) -> dict[str, list[tuple[int, int]]]:
        """For each name, (sub-environment, number of its episode), in the order of their ends."""
        return {
            name: [(env, episode) for _, env, episode in finished[: self._quota]]
            for name, finished in self._finished.items()
        }

    @property
    def at_once(self) -> list[list[tuple[int, int]]]:
        """Episodes that finished at the same vector step, in the order of sub-environments."""
        steps: dict[int, list[tuple[int, int]]] = {}
        for at, env, episode in sorted(e for each in self._finished.values() for e in each):
            steps.setdefault(at, []).append((env, episode))
        return list(steps.values())
