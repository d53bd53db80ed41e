"""The result of a run that trained its agent first: the judge's, and curves over training steps."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace

import numpy as np

from glue_server.episodes.recording import CUT_OFF
from reglue.errors import AgentAbandoned
from reglue_bench.float_range import RunningMean
from reglue_bench.procedures.training import Training
from reglue_bench.procedures.training_cells import evaluation_of
from reglue_bench.results.learning import edges
from reglue_bench.results.result import Result
from reglue_bench.results.scores import StepCurve, TrainingProgress
from reglue_bench.results.scoring import RowCounts, ScoreInputs, result_of, what_was_run
from reglue_bench.runs.ledger import Row


def score_training(procedure: Training, played: ScoreInputs) -> Result:
    """The judge's result of the rows that are judged, and a fold over the others."""
    judged = replace(
        played, plan=evaluation_of(played.plan), rows=lambda: _judged(procedure, played.rows())
    )
    result = result_of(judged)
    plan = played.plan
    tells = bool(plan.parameters.get("tells_success", not plan.is_by_return))
    counts, folded = RowCounts(plan), _Folded(procedure, tells_success=tells)
    for row in counts.over(_without_free(procedure, played.rows())):
        folded.take(row)
    of_all = what_was_run(played, counts)
    del of_all["episodes_cut_off"]  # a limit of episodes that are judged
    return result.model_copy(update={**of_all, "training": folded.progress()})


def _judged(procedure: Training, rows: Iterable[Row]) -> Iterator[Row]:
    """The rows that the judge knows, by its units."""
    for row in rows:
        if row.k < procedure.judged:
            unit, k = procedure.judged_as(row.k)
            yield replace(row, unit=unit, k=k)


def _without_free(procedure: Training, rows: Iterable[Row]) -> Iterator[Row]:
    """The rows; a training episode that the agent abandoned is no fault."""
    for row in rows:
        is_free = row.k >= procedure.first and row.status == AgentAbandoned.status
        yield replace(row, status="ok", detail=AgentAbandoned.status) if is_free else row


class _Folded:
    """The fold over the rows so far."""

    def __init__(self, procedure: Training, *, tells_success: bool) -> None:
        self._procedure = procedure
        self._taken = [0] * procedure.width  # training steps
        self._episodes = self._abandoned = 0
        ends = edges(procedure.steps)[1:]
        self._training = _Points(ends, tells_success)
        self._checkpoints = _Points(list(procedure.checkpoints), tells_success)

    def take(self, row: Row) -> None:
        """Fold the next row."""
        procedure = self._procedure
        if row.k >= procedure.first:
            self._train(row, (row.k - procedure.first) % procedure.width)
        elif (
            row.k >= procedure.judged
            and row.status == "ok"
            and procedure.cell(0, row.k).phase == "checkpoint"
        ):
            self._checkpoints.add((row.k - procedure.judged) // procedure.at_once, row)

    def progress(self) -> TrainingProgress:
        """The progress over all rows."""
        return TrainingProgress(
            steps=self._procedure.steps,
            steps_taken=sum(self._taken),
            episodes=self._episodes,
            episodes_abandoned=self._abandoned,
            curve=self._training.curve(),
            checkpoints=self._checkpoints.curve() if self._procedure.every else None,
        )

    def _train(self, row: Row, slot: int) -> None:
        """An episode is placed at (steps its slot had taken at its end) × (number of slots)."""
        self._taken[slot] += row.steps
        self._episodes += 1
        self._abandoned += row.detail == AgentAbandoned.status
        if row.status == "ok" and row.detail not in (CUT_OFF, AgentAbandoned.status):
            at = min(self._procedure.steps, self._taken[slot] * self._procedure.width)
            self._training.add(int(np.searchsorted(self._training.at, at)), row)


@dataclass
class _Points:
    """Episodes by the points of a curve."""

    at: list[int]  # steps, ascending
    tells_success: bool
    returns: list[RunningMean] = field(init=False)
    won: list[int] = field(init=False)

    def __post_init__(self) -> None:
        self.returns, self.won = [RunningMean() for _ in self.at], [0] * len(self.at)

    def add(self, point: int, row: Row) -> None:
        """An episode that was played to its end."""
        self.returns[point].add(row.return_)
        self.won[point] += row.success

    def curve(self) -> StepCurve:
        """The mean at each point; None at points without episodes."""
        each = [(of.count, won) for of, won in zip(self.returns, self.won, strict=True)]
        success = [won / n if n else None for n, won in each] if self.tells_success else []
        return StepCurve(
            at=self.at,
            episodes=[of.count for of in self.returns],
            mean_return=[of.value if of.count else None for of in self.returns],
            success_rate=success,
        )
