"""The scores of runs, a type for each thing that they are judged by."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Literal, NamedTuple, TypeAlias

from pydantic import ConfigDict, Field

from reglue_bench.formatting import plural
from reglue_bench.plans.plan import PlanCell
from reglue_bench.results.facts import Record
from reglue_bench.statistics import Interval, Intervals

Planned: TypeAlias = Mapping[str, Mapping[int, int]]
"""The number of episodes of each variant, by task."""

SUCCESS, MEAN_RETURN = "success", "mean return"


class TaskScore(NamedTuple):
    """A row of a result's table of scores."""

    task: str  # empty: over all tasks
    what: str  # success (a rate, 0 to 1), mean return, performance, …
    score: float
    interval95: Interval | None  # None: there is too little to tell
    n: int  # how many units it is a mean of
    unit: str  # goal, episode, run or training seed

    @property
    def of(self) -> str:
        """The number of units that it is the mean of: `50 goals`."""
        return plural(self.n, self.unit)

    @property
    def is_rate(self) -> bool:
        """Whether it is from 0 to 1: goals are reached, or not."""
        return self.unit == "goal"


class UnitScore(NamedTuple):
    """A row of a result's table of units: one of what two runs are paired by."""

    task: str  # empty: of an agent that learns
    variant: int  # of the task, or that a run plays of each task; 0 of a run that plays several
    number: int  # of the episode, among those of its variant; or of the run
    seed: int | None  # of the environment; None if a secret keys it
    value: float | None  # success (0 or 1), return or performance; None: what counts is not known
    status: str  # ok: played to its end; or the fault that ended it; missing: a run to be played


class CurvePoint(NamedTuple):
    """A row of a result's table of curves."""

    curve: str  # return, reward per step, training success, …
    at: int  # the last episode or step of the point
    counted_in: str  # what `at` is: episodes or steps
    value: float
    interval95: Interval | None  # None: there is too little to tell
    n: int  # how many runs, or episodes, it is a mean of


class Rates(Record):
    """Success rates, 0 to 1."""

    mean_success_rate: float  # mean over tasks
    success_rate_per_task: dict[str, float]


class Upstream(Record):
    """The score that `metaworld.evaluation` gives to the same episodes."""

    mean_success_rate: float  # mean over tasks, 0 to 1
    mean_return: float | None  # over the episodes that count; None if there are none
    success_rate_per_task: dict[str, float]


class SuccessScore(Record):
    """Success of a frozen agent. An episode that was not played is a failure."""

    kind: Literal["success"] = "success"  # which score this is
    mean_success_rate: float  # mean of `success_rate_per_task`
    intervals95: Intervals  # of success
    success_rate_per_task: dict[str, float]  # over planned episodes, 0 to 1
    completed_only: Rates  # over the episodes that were played to their end
    before_adaptation: Rates | None = None  # if it was judged before it adapted
    upstream: Upstream | None = None  # of runs with --estimator metaworld
    mean_return: float | None  # as of a score of the kind `return`
    returns_per_task: dict[str, float | None]  # as of a score of the kind `return`

    @property
    def value(self) -> float:
        """The score."""
        return self.mean_success_rate

    @property
    def interval95(self) -> Interval | None:
        """The score's 95 % interval."""
        return self.intervals95.mean

    def table(self, planned: Planned, name: str) -> Iterator[TaskScore]:
        """Rows of each task and of all tasks; those of the score itself have its name."""
        goals, episodes = _counts(planned)
        yield from _rates(name, self, goals, self.intervals95)
        if self.before_adaptation is not None:
            yield from _rates(f"{name} before adaptation", self.before_adaptation, goals)
        yield from _rows(MEAN_RETURN, self.returns_per_task, self.mean_return, episodes, "episode")


class Success(Record):
    """Success beside returns that are the score, with the fields of a score of success."""

    mean_success_rate: float
    intervals95: Intervals
    success_rate_per_task: dict[str, float]
    completed_only: Rates


class ReturnScore(Record):
    """Returns of a frozen agent."""

    kind: Literal["return"] = "return"  # which score this is
    mean_return: float | None  # mean of `returns_per_task`; None if one of them is None
    intervals95: Intervals | None  # of returns; None if one of them is None
    returns_per_task: dict[str, float | None]
    """Mean over a task's goals of each goal's planned episodes. An episode that was not played to
    its end counts as the plan's worst performance; None if there is such an episode and no worst
    performance is known."""
    success: Success | None  # None: the environment never reports it

    @property
    def value(self) -> float | None:
        """The score."""
        return self.mean_return

    @property
    def interval95(self) -> Interval | None:
        """The score's 95 % interval; None for too few episodes or equal returns."""
        return self.intervals95.mean if self.intervals95 else None

    def table(self, planned: Planned, name: str) -> Iterator[TaskScore]:
        """A row of each task, and of all; then those of success, if an episode succeeded."""
        goals, episodes = _counts(planned)
        of = (self.returns_per_task, self.mean_return, episodes, "episode")
        yield from _rows(name, *of, self.intervals95)
        if self.success is not None and self.success.mean_success_rate:
            yield from _rates(SUCCESS, self.success, goals, self.success.intervals95)


class LearningRun(Record):
    """One independent run of an agent that learns."""

    model_config = ConfigDict(populate_by_name=True)

    run: int  # its number, from 0
    variant: int | None = None  # that it plays of each task (--variants per-run); None: several
    attempt: int = Field(alias="try")  # how often it was played before
    status: str  # ok: played to its end; missing; or the fault that ended it
    performance: float | None
    """Mean of what is measured; the plan's worst performance if the agent's own fault or a crash
    ended the run; None if the run is missing, an environment ended it, or no worst performance is
    known."""
    episodes: int  # that were begun
    steps: int  # in all episodes
    successes: int  # episodes with success; 0 if the environment never reports it
    line: list[float]  # return of each episode; or mean reward of each bin of steps
    episode_steps: list[int]  # of each episode; empty if runs are counted in steps


class Curve(Record):
    """Means over the completed runs, point by point."""

    at: list[int]  # the episode, from 1; or the last step of a bin
    mean: list[float]  # over the completed runs
    interval95: list[Interval]  # Student's, of each mean; empty below two runs


class PerformanceScore(Record):
    """The performance of an agent while it learned, over independent runs."""

    kind: Literal["performance"] = "performance"  # which score this is
    performance: float | None  # mean over all planned runs; None: see `withheld`
    interval95: Interval | None  # Student's, over all planned runs; None below two
    withheld: str = ""  # why there is no performance
    counted_in: Literal["episodes", "steps"]  # what `quota` counts
    quota: int  # how long each run is
    metric: str  # what is measured: all, or final:N
    fresh_agent: Literal["process", "agent_init"]  # what makes each run's agent naive
    worst_performance: float | None = None  # of runs that were not played to their end
    completed_only: float | None  # mean over the runs played to their end; not to be ranked
    runs: list[LearningRun]  # all that were planned
    curve: Curve  # of the completed runs' lines
    episode_steps: Curve | None  # steps of each episode; None if runs are counted in steps

    @property
    def value(self) -> float | None:
        """The score."""
        return self.performance

    def table(self, _planned: Planned, name: str) -> Iterator[TaskScore]:
        """The row of the score, and none if it is withheld."""
        if self.performance is not None:
            yield TaskScore("", name, self.performance, self.interval95, len(self.runs), "run")

    @property
    def curves(self) -> Iterator[CurvePoint]:
        """The means of the completed runs, point by point."""
        what = "return" if self.counted_in == "episodes" else "reward per step"
        runs = len(self.completed)
        for name, curve in ((what, self.curve), ("steps per episode", self.episode_steps)):
            if curve is not None:
                intervals: Sequence[Interval | None] = curve.interval95 or [None] * len(curve.at)
                for at, mean, interval in zip(curve.at, curve.mean, intervals, strict=True):
                    yield CurvePoint(name, at, self.counted_in, mean, interval, runs)

    @property
    def about(self) -> str:
        """`mean return over the last 100 episodes of a run`."""
        kind, _, last = self.metric.partition(":")
        which = f"all {self.quota:,}" if kind == "all" else f"the last {int(last):,}"
        what = "mean return" if self.counted_in == "episodes" else "mean reward per step"
        one = "" if self.runs[0].variant is None else ", which plays one variant"
        return f"{what} over {which} {self.counted_in} of a run{one}"

    @property
    def completed(self) -> list[LearningRun]:
        """The runs that were played to their end."""
        return [run for run in self.runs if run.status == "ok"]

    @property
    def given_up(self) -> list[LearningRun]:
        """The runs that the agent's own fault or a crash ended, scored as the worst."""
        return [run for run in self.runs if run.status != "ok" and run.performance is not None]


Score: TypeAlias = SuccessScore | ReturnScore | PerformanceScore


def _counts(planned: Planned) -> tuple[dict[str, int], dict[str, int]]:
    """The number of goals, and of episodes, of each task."""
    goals = {task: len(of) for task, of in planned.items()}
    return goals, {task: sum(of.values()) for task, of in planned.items()}


def _rates(
    what: str,
    rates: Rates | SuccessScore | Success,
    goals: Mapping[str, int],
    intervals: Intervals | None = None,
) -> Iterator[TaskScore]:
    of = (rates.success_rate_per_task, rates.mean_success_rate, goals, "goal")
    return _rows(what, *of, intervals)


def _rows(
    what: str,
    per_task: Mapping[str, float | None],
    mean: float | None,
    counts: Mapping[str, int],
    unit: str,
    intervals: Intervals | None = None,
) -> Iterator[TaskScore]:
    """A row for each task whose score is known, and one for all."""
    known = intervals.per_task if intervals else {}
    for task, score in per_task.items():
        if score is not None:
            yield TaskScore(task, what, score, known.get(task), counts.get(task, 0), unit)
    if mean is not None:
        interval = intervals.mean if intervals else None
        yield TaskScore("", what, mean, interval, sum(counts.values()), unit)


class StepCurve(Record):
    """Episodes that were played to their end, by steps of training."""

    at: list[int]  # of each point: the last step of a bin, or the steps before a checkpoint
    episodes: list[int]  # of each point
    mean_return: list[float | None]  # of each point's episodes; None: there are none
    success_rate: list[float | None]  # 0 to 1; empty if the environment never reports success

    def points(self, name: str, values: Sequence[float | None]) -> Iterator[CurvePoint]:
        """The points that have a value."""
        for at, count, value in zip(self.at, self.episodes, values, strict=bool(values)):
            if value is not None:
                yield CurvePoint(name, at, "steps", value, None, count)


class TrainingProgress(Record):
    """An agent's progress during training, before it was frozen and evaluated."""

    steps: int  # that it was to train for, over all slots
    steps_taken: int
    episodes: int  # that it trained on
    episodes_abandoned: int  # by the agent, which is no fault here; their steps count
    curve: StepCurve  # of the episodes that it trained on, without those that were cut short
    checkpoints: StepCurve | None  # of the fixed episodes in between; None: there are none

    @property
    def curves(self) -> Iterator[CurvePoint]:
        """Returns and success over its steps, of training episodes and of checkpoints."""
        for name, curve in (("training", self.curve), ("checkpoint", self.checkpoints)):
            if curve is not None:
                yield from curve.points(f"{name} return", curve.mean_return)
                yield from curve.points(f"{name} success", curve.success_rate)


class GoalCounts:
    """Cells and successes of each (task, variant), tasks in order of first use."""

    def __init__(self) -> None:
        self._cells: dict[str, Counter[int]] = {}
        self._won: dict[str, Counter[int]] = {}

    def add(self, cell: PlanCell, *, success: bool) -> None:
        """Count one more cell."""
        self._cells.setdefault(cell.task, Counter())[cell.variant] += 1
        self._won.setdefault(cell.task, Counter())[cell.variant] += success

    def __len__(self) -> int:
        """The number of cells."""
        return sum(cells.total() for cells in self._cells.values())

    @property
    def cells(self) -> dict[str, dict[int, int]]:
        """The number of cells of each task's variants, in the order of variants."""
        return {task: dict(sorted(of.items())) for task, of in self._cells.items()}

    @property
    def success(self) -> dict[str, list[float]]:
        """The success fraction of each goal, by task, in the order of variants."""
        return {
            task: [self._won[task][variant] / count for variant, count in of.items()]
            for task, of in self.cells.items()
        }

    @property
    def success_by_episode(self) -> dict[str, list[float]]:
        """Like `success`, but a task with one goal has a value for each episode."""
        return {
            task: self.success[task]
            if len(of) > 1
            else _flags(self._won[task].total(), *of.values())
            for task, of in self.cells.items()
        }

    @property
    def rates(self) -> Rates:
        """Success of each task, and the mean over tasks.

        Goals weigh alike, however often each was played: the interval's centre is the rate.
        """
        per_task = {task: math.fsum(of) / len(of) for task, of in self.success.items()}
        mean = math.fsum(per_task.values()) / len(per_task) if per_task else 0.0
        return Rates(mean_success_rate=mean, success_rate_per_task=per_task)


def _flags(won: int, played: int) -> list[float]:
    return [1.0] * won + [0.0] * (played - won)
