"""Scores of agents that learn: an online benchmark's, and the curves of a training before a score.

A run's performance is the mean return of its measured episodes (or the mean reward of
its measured steps), an agent's the mean over runs: RL-Glue concepts 1.0, RL_benchmark.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby, pairwise

import numpy as np

from glue_server import CRASHED, LOST
from glue_server.episodes.recording import CUT_OFF
from reglue.errors import AgentAbandoned
from reglue_bench.float_range import FloatArray, RunningMean, scaled
from reglue_bench.plans.plan import Plan
from reglue_bench.procedures.online import Online, measured
from reglue_bench.procedures.training import Training
from reglue_bench.procedures.training_cells import evaluation_of
from reglue_bench.results.facts import Coverage
from reglue_bench.results.result import NO_SCORE, Result
from reglue_bench.results.scores import (
    Curve,
    LearningRun,
    PerformanceScore,
    StepCurve,
    TrainingProgress,
)
from reglue_bench.results.scoring import (
    RowCounts,
    ScoreInputs,
    is_agents_fault,
    is_worst,
    result_of,
    what_was_run,
)
from reglue_bench.runs.ledger import Row
from reglue_bench.statistics import Interval, bound_of, cut_at

BINS = 100
"""Points of a learning curve over steps."""


def score_online(procedure: Online, played: ScoreInputs) -> Result:
    """The result of an online benchmark so far.

    A run that its agent's own fault ended, that it gave up, or in which the environment crashed on
    its actions, is worth the plan's worst performance, and the mean is over all planned runs:
    nobody gains by leaving a run that goes badly. Where a run has no performance (an environment
    failed, it was not played, or no worst one is known) there is no mean over all; that of the
    completed runs stands apart.
    """
    counts = RowCounts(played.plan)
    runs = list(_runs(procedure, played, counts))
    score = _score(procedure, runs, played)
    return Result(
        **what_was_run(played, counts),
        complete=all(run.status not in NO_SCORE for run in runs),
        score=score,
        coverage=_coverage(procedure, score),
        status_counts=dict(sorted(Counter(run.status for run in runs).items())),
    )


def with_failed_runs(result: Result) -> Result:
    """The result of an agent that has failed for good: runs that it did not play are its failures.

    They count as the worst performance, where that is known; another result stays as it is.
    """
    score, worst = result.score, result.parameters.get("worst_performance")
    if not isinstance(score, PerformanceScore) or score.performance is not None:
        return result
    if not isinstance(worst, int | float):
        return result
    least = float(worst) if score.worst_performance is None else score.worst_performance
    runs = [
        run.model_copy(update={"performance": least}) if run.status == "missing" else run
        for run in score.runs
    ]
    performances = [run.performance for run in runs if run.performance is not None]
    if len(performances) < len(runs):  # an environment failed
        return result
    changed = {
        "runs": runs,
        "performance": mean_in_order(performances),
        "interval95": cut_at(lowest_of(result.parameters, runs), t_interval95(performances)),
        "withheld": "",
        "worst_performance": least,
    }
    return result.model_copy(update={"score": score.model_copy(update=changed)})


def lowest_of(parameters: Mapping[str, object], runs: Sequence[LearningRun]) -> float:
    """The least return, or reward, that runs with these parameters can have: see `bound_of`."""
    performances = [run.performance for run in runs if run.performance is not None]
    worst = parameters.get("worst_performance")
    return bound_of(worst, performances, *(run.line for run in runs))


def mean_in_order(values: Sequence[float] | FloatArray) -> float:
    """Summed one by one, as RL_benchmark does, so that it equals that loop to the bit."""
    return float(scaled(lambda each: np.add.accumulate(each)[-1] / len(each), values))


def t_interval95(values: Sequence[float] | FloatArray) -> Interval | None:
    """Student's 95 % interval of the mean (Student 1908, Biometrika 6:1); None below two."""
    return next(iter(pointwise95(np.asarray(values, np.float64)[:, None])), None)


def pointwise95(lines: FloatArray) -> list[Interval]:
    """Student's interval at each point of lines of shape (runs, points); none below two runs."""
    if len(lines) < 2:
        return []
    low, high = scaled(_ends95, lines)
    return list(zip(low.tolist(), high.tolist(), strict=True))


def edges(steps: int) -> list[int]:
    """The edges of at most 100 bins over `steps` steps, as even as possible."""
    bins = min(BINS, steps)
    return [steps * place // bins for place in range(bins + 1)]


def binned(rewards: FloatArray, steps: int) -> list[float]:
    """Mean reward of each bin that `rewards`, shape (steps so far,), has filled."""
    return [
        float(scaled(np.mean, rewards[begin:end]))
        for begin, end in pairwise(edges(steps))
        if end <= len(rewards)
    ]


def _runs(procedure: Online, played: ScoreInputs, counts: RowCounts) -> Iterator[LearningRun]:
    """Every run of the plan; the rows of one run at a time are in memory."""
    by_run = groupby(counts.over(played.rows()), key=lambda row: row.unit)
    following = next(by_run, None)
    for unit in range(procedure.units):
        if following is not None and following[0] == unit:
            yield _run(procedure, unit, list(following[1]), played)
            following = next(by_run, None)
        else:
            yield _run(procedure, unit, [], played)


def _run(procedure: Online, unit: int, rows: Sequence[Row], played: ScoreInputs) -> LearningRun:
    faults = [row.status for row in rows if row.status != "ok"]
    status = faults[0] if faults else "ok" if rows else "missing"
    attempt = rows[0].attempt if rows else 0
    earned: Sequence[float] | FloatArray  # what the performance is a mean of
    if procedure.episodes:
        earned = line = [row.return_ for row in rows if row.status == "ok"]
    else:
        earned = played.rewards(unit, attempt)
        line = binned(earned, procedure.steps)
    last = measured(procedure.metric, procedure.quota)
    return LearningRun(
        run=unit,
        variant=procedure.variant(unit),
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


def _score(
    procedure: Online, played_runs: list[LearningRun], played: ScoreInputs
) -> PerformanceScore:
    completed = [run for run in played_runs if run.status == "ok"]
    measured_ones = [run.performance for run in completed if run.performance is not None]
    worst = _worst(played.plan)
    if worst is not None:  # a declared one may lie above what was seen
        lost = [min(run.line) for run in played_runs if run.status != "ok" and run.line]
        worst = min([worst, *measured_ones, *lost])
    runs = [
        run.model_copy(update={"performance": worst}) if is_worst(run.status) else run
        for run in played_runs
    ]
    performances = [run.performance for run in runs if run.performance is not None]
    is_whole = len(performances) == len(runs)
    lowest = lowest_of(played.plan.parameters, runs)
    at = list(range(1, procedure.episodes + 1)) or edges(procedure.steps)[1:]
    return PerformanceScore(
        counted_in="episodes" if procedure.episodes else "steps",
        quota=procedure.quota,
        metric=procedure.metric,
        fresh_agent=played.fresh,
        performance=mean_in_order(performances) if is_whole else None,
        interval95=cut_at(lowest, t_interval95(performances)) if is_whole else None,
        withheld=_withheld(runs),
        worst_performance=worst,
        completed_only=mean_in_order(measured_ones) if measured_ones else None,
        runs=runs,
        curve=_curve(at, [run.line for run in completed], lowest),
        episode_steps=(
            _curve(at, [run.episode_steps for run in completed]) if procedure.episodes else None
        ),
    )


def _withheld(runs: Sequence[LearningRun]) -> str:
    """The reason why a run has no performance; empty if every one has."""
    without = [run.status for run in runs if run.performance is None]
    unknown = ", and no worst performance is known: declare one"
    reasons = {
        f"the agent's own fault ended {{}}{unknown}": sum(map(is_agents_fault, without)),
        f"the environment crashed in {{}}{unknown}": without.count(CRASHED),
        "an environment failed in {}": without.count("environment_error"),
        "the environment was lost in {}": without.count(LOST),
        "{} not played": without.count("missing"),
    }
    parts = [
        reason.format(f"{count} of {len(runs)} runs") for reason, count in reasons.items() if count
    ]
    return "; ".join(parts)


def _curve(at: list[int], lines: Sequence[Sequence[float]], lowest: float = -math.inf) -> Curve:
    if not lines:
        return Curve(at=[], mean=[], interval95=[])
    stacked = np.array(lines, np.float64)  # (runs, points)
    mean = scaled(lambda each: each.mean(axis=0), stacked)
    intervals = [(max(lowest, low), high) for low, high in pointwise95(stacked)]
    return Curve(at=at, mean=mean.tolist(), interval95=intervals)


def _coverage(procedure: Online, score: PerformanceScore) -> Coverage:
    """The coverage in runs."""
    return Coverage(
        cells_planned=procedure.units,
        cells_completed=len(score.completed),
        goals_planned=procedure.goals_planned,
        goals_total=procedure.goals,
    )


def _ends95(lines: FloatArray) -> FloatArray:
    """The ends of the intervals of means over the first axis, shape (2, points)."""
    # Imported here: SciPy is slow to import, and most commands do not need it.
    from scipy.special import stdtrit

    runs = len(lines)
    quantile = float(stdtrit(runs - 1, 0.975))
    half = quantile * lines.std(axis=0, ddof=1) / np.sqrt(runs)
    mean = lines.mean(axis=0)
    return np.array([mean - half, mean + half])


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
