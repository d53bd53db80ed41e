"""Scores what was played, by the function that its procedure names.

That of frozen agents is here. It folds a plan's cells and a ledger's rows: each row is forgotten
once it is folded, so memory does not grow with their number.
"""

from __future__ import annotations

import json
import math
import shutil
import tempfile
from array import array
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from types import FunctionType
from typing import Any, Literal, get_args

from env_adapters.named_objects import imported
from glue_server import CRASHED
from reglue_bench.float_range import FloatArray, mean
from reglue_bench.plans.plan import Plan, PlanCell
from reglue_bench.procedures import Procedure, procedure_of
from reglue_bench.results.episodes import Episodes
from reglue_bench.results.facts import (
    AgentIdentity,
    Coverage,
    Event,
    FaultCount,
    Isolation,
    Recorded,
    Seconds,
    StepCounts,
)
from reglue_bench.results.result import NO_SCORE, Result, read_result
from reglue_bench.results.scores import GoalCounts, ReturnScore, Success, SuccessScore
from reglue_bench.run_folder import LEDGER, OBSERVED
from reglue_bench.runs.ledger import (
    AGENT_NAME,
    ENVIRONMENTS,
    EVENT,
    ISOLATION,
    MACHINE,
    PLAYED_IN,
    REPEATS,
    LedgerReader,
    Row,
    Totals,
    warn_of_lost_journal,
)
from reglue_bench.runs.notes import Repeat, ending_of
from reglue_bench.runs.observed import counted
from reglue_bench.settings import AGENT_WAIT, Settings
from reglue_bench.statistics import (
    Intervals,
    averaged_by_goal,
    intervals95,
    return_intervals95,
)


@dataclass(frozen=True, slots=True)
class ScoreInputs:
    """All that a run's score is computed from."""

    plan: Plan
    rows: Callable[[], Iterable[Row]]  # in the order of units and cells; each call reads them again
    rewards: Callable[[int, int], FloatArray]  # of a unit's try, step by step, shape (steps,)
    agent: AgentIdentity
    totals: Totals
    versions: Mapping[str, str]
    fresh: Literal["process", "agent_init"]  # what makes an agent naive


def result_of(played: ScoreInputs) -> Result:
    """The result of a run so far."""
    procedure = procedure_of(played.plan)
    score: Callable[[Procedure, ScoreInputs], Result] = imported(
        "scoring", procedure.scored_by, FunctionType
    )
    return score(procedure, played)


def score_of(ledger: LedgerReader) -> Result:
    """Score a run as far as it has come."""
    about = ledger.about
    plan = Plan.from_json(about["plan"])
    settings = Settings.model_validate_json(about["settings"])
    played = ScoreInputs(
        plan,
        ledger.rows,
        ledger.rewards,
        agent=_identity(about, settings),
        totals=ledger.totals(),
        versions={
            name.removeprefix("version "): version
            for name, version in about.items()
            if name.startswith("version ")
        },
        fresh=_fresh(settings),
    )
    changes: dict[str, Any] = {
        "machines": _machines(about),
        "environments_on": _entries_of(about, ENVIRONMENTS),
        "environments_in": _entries_of(about, PLAYED_IN),
        "events": [
            Event(what=what, count=int(about[EVENT + what])) for what in _entries_of(about, EVENT)
        ],
        "repeats": tuple(map(Repeat.model_validate, json.loads(about.get(REPEATS, "[]")))),
        "ended_early": ending_of(about),
    }
    if settings.record or (ledger.folder / OBSERVED).is_file():
        episodes, lost = counted(ledger)
        changes["recorded"] = Recorded(episodes=episodes, lost=lost)
    return result_of(played).with_episodes(Episodes(ledger.folder)).model_copy(update=changes)


def read_run(folder: Path) -> Result:
    """The result of a run, also while it goes on, or of a result.json alone.

    If there is a ledger it is scored again, and so checked; nothing is written.
    Raises UsageError if there is no run, and RunDamaged if the ledger was changed.
    """
    if not (folder / LEDGER).exists():
        return read_result(folder)
    with LedgerReader(folder) as ledger:
        warn_of_lost_journal(folder)
        return score_of(ledger)


def in_temporary_folder(play: Callable[[Path], Result]) -> Result:
    """The result of a run whose folder lasts as long as the result's episodes do."""
    folder = Path(tempfile.mkdtemp(prefix="reglue-"))
    try:
        result = play(folder)
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    return result.with_episodes(Episodes(folder, is_temporary=True))


def _machines(about: Mapping[str, str]) -> list[str]:
    """The machines on which agents played: entries say `agent 3: NAME, PROCESSOR`."""
    return sorted({each.partition(": ")[2] for each in _entries_of(about, MACHINE)})


def _entries_of(about: Mapping[str, str], kind: str) -> list[str]:
    """The texts behind the prefix of a kind in the names of entries."""
    return sorted(name.removeprefix(kind) for name in about if name.startswith(kind))


def _identity(about: Mapping[str, str], settings: Settings) -> AgentIdentity:
    name = about.get(AGENT_NAME, "nobody")
    isolations = [each for each in get_args(Isolation) if ISOLATION + each in about]
    if AGENT_NAME not in about and isolations == ["remote"]:  # one was waited for, and did not come
        isolations = []
    return AgentIdentity(
        name=name,
        label=settings.label or name,
        checkpoint_sha256=about.get("agent checkpoint"),
        training_seed=settings.training_seed,
        isolation=next(iter(isolations), None),
    )


def _fresh(settings: Settings) -> Literal["process", "agent_init"]:
    """The way in which agents were made naive: a new process if one is started here."""
    launched = settings.agent_cmd or settings.agent not in (None, AGENT_WAIT)
    return "process" if launched else "agent_init"


def score(procedure: Procedure, played: ScoreInputs) -> Result:
    """The result of a run so far. A planned cell without a row is a failure."""
    plan, counts = played.plan, RowCounts(played.plan)
    folded = _Folded(plan)
    for _, cell, row in planned(procedure, counts.over(played.rows())):
        folded.take(cell, row)
    judged = folded.judged
    return Result(
        **what_was_run(played, counts),
        complete=folded.is_complete and NO_SCORE.isdisjoint(folded.statuses),
        score=_return_score(folded, plan) if plan.is_by_return else _success_score(folded),
        coverage=Coverage(
            cells_planned=len(judged),
            cells_completed=len(folded.played),
            cells_succeeded=folded.succeeded,
            goals_planned=sum(len(variants) for variants in judged.cells.values()),
            goals_total=procedure.goals,
            episodes_planned=judged.cells,
        ),
        status_counts=dict(sorted(folded.statuses.items())),
    )


def _success_score(folded: _Folded) -> SuccessScore:
    return SuccessScore(
        **dict(folded.judged.rates),
        intervals95=intervals95(folded.judged.success),
        completed_only=folded.played.rates,
        before_adaptation=folded.before.rates if len(folded.before) else None,
        **_returns(folded),
    )


def _return_score(folded: _Folded, plan: Plan) -> ReturnScore:
    success = None
    if plan.tells_success:
        success = Success(
            **dict(folded.judged.rates),
            intervals95=intervals95(folded.judged.success_by_episode),
            completed_only=folded.played.rates,
        )
    return ReturnScore(**_returns(folded), intervals95=folded.return_intervals95, success=success)


def _returns(folded: _Folded) -> dict[str, Any]:
    """The mean return, which is None if that of a task is not known, and that of each task."""
    means = {task: folded.mean_return(task) for task in folded.returns}
    known = [mean for mean in means.values() if mean is not None]
    return {
        "mean_return": mean(known) if known and len(known) == len(means) else None,
        "returns_per_task": means,
    }


def is_agents_fault(status: str) -> bool:
    """Whether the agent failed, was lost or gave up."""
    return status.startswith("agent_")


def is_worst(status: str) -> bool:
    """Whether what ended so counts as the worst performance: the agent failed, or it crashed."""
    return status == CRASHED or is_agents_fault(status)


def what_was_run(played: ScoreInputs, counts: RowCounts) -> dict[str, Any]:
    """The fields of a result that are those of any procedure: what was run, and its costs."""
    plan, totals = played.plan, played.totals
    return {
        "benchmark": plan.benchmark,
        "procedure": plan.procedure,
        "environment_args": dict(plan.environment_args),
        "parameters": dict(plan.parameters),
        "seed": plan.seed,
        "slots": plan.slots,
        "plan_sha256": plan.sha256,
        "goals_sha256": plan.goals_sha256,
        "agent": played.agent,
        "privileged": list(plan.privileged),
        "faults": counts.faults,
        "episodes_succeeded": counts.succeeded,
        "episodes_cut_off": counts.cut_off,
        "episodes_retried": counts.retried,
        "clipped_steps": counts.clipped_steps,
        "defaulted_steps": counts.defaulted_steps,
        "steps": StepCounts(counted=counts.steps, executed=totals.executed),
        "seconds": Seconds(
            wall=totals.wall_s,
            agent=totals.agent_s,
            environment=totals.environment_s,
            glue=max(0.0, totals.wall_s - totals.agent_s - totals.environment_s),
        ),
        "versions": dict(played.versions),
    }


def planned(
    procedure: Procedure, rows: Iterable[Row]
) -> Iterator[tuple[int, PlanCell, Row | None]]:
    """Every cell of the plan, in its order, with its unit, and its row if it was played."""
    left = iter(rows)
    row = next(left, None)
    for unit in range(procedure.units):
        for cell in procedure.cells(unit):
            if row is not None and (row.unit, row.k) == (unit, cell.k):
                yield unit, cell, row
                row = next(left, None)
            else:
                yield unit, cell, None


class _Folded:
    """The fold over the cells so far."""

    def __init__(self, plan: Plan) -> None:
        self.judged = GoalCounts()
        self.played = GoalCounts()  # judged cells that were played to their end
        self.before = GoalCounts()
        self.returns: dict[str, dict[int, array[float]]] = {}  # of the played, by task, variant
        self.lost: dict[str, Counter[int]] = {}  # judged cells without a return, by task, variant
        self.given_up: dict[str, list[float]] = {}  # returns of the lost, by task, as far as played
        self.statuses: Counter[str] = Counter()  # of the judged
        self.is_complete = True
        self.succeeded = 0  # of the played
        self._worst = plan.parameters.get("worst_performance")

    def take(self, cell: PlanCell, row: Row | None) -> None:
        """Fold the next cell."""
        if row is None:
            self.is_complete = False
        success = row is not None and row.success
        if cell.phase == "evaluate":
            self._judge(cell, row, success=success)
        elif cell.phase == "evaluate_before":
            self.before.add(cell, success=success)

    def mean_return(self, task: str) -> float | None:
        """Mean over goals, which weigh alike, of the mean over a goal's planned episodes.

        An episode not played to its end counts as the worst performance, so that leaving those
        that go badly does not raise the mean. None if that is not known.
        """
        filled = self._filled(task)
        if filled is None:
            return None
        goals = [*filled.values()]
        if len({len(goal) for goal in goals}) == 1:  # exactly rounded, however many episodes
            goals = [[each for goal in goals for each in goal]]
        return mean([mean(goal) for goal in goals])

    @property
    def return_intervals95(self) -> Intervals | None:
        """Intervals of returns; an unfinished episode counts with the worst performance.

        None if that is not known.
        """
        filled = {task: self._filled(task) for task in self.returns}
        known = {task: each for task, each in filled.items() if each is not None}
        if len(known) < len(filled):
            return None
        return return_intervals95(averaged_by_goal(known), lowest=self._worst)

    def _filled(self, task: str) -> Mapping[int, Sequence[float]] | None:
        """The returns of all planned episodes by variant; None if one is not known."""
        returns, lost = self.returns[task], self.lost.get(task)
        if lost is None:
            return returns
        if self._worst is None:
            return None
        worst = min([float(self._worst), *self.given_up[task], *chain(*returns.values())])
        variants = sorted({*returns, *lost})
        return {each: [*returns.get(each, ()), *[worst] * lost[each]] for each in variants}

    def _judge(self, cell: PlanCell, row: Row | None, *, success: bool) -> None:
        returns = self.returns.setdefault(cell.task, {})
        self.judged.add(cell, success=success)
        self.statuses[row.status if row else "missing"] += 1
        if row is not None and row.status == "ok":
            self.played.add(cell, success=success)
            self.succeeded += success
            returns.setdefault(cell.variant, array("d")).append(row.return_)
        else:
            self.lost.setdefault(cell.task, Counter())[cell.variant] += 1
            self.given_up.setdefault(cell.task, []).extend([] if row is None else [row.return_])


class RowCounts:
    """Counts steps and faults of the rows that go through `over`."""

    def __init__(self, plan: Plan) -> None:
        self.steps = 0
        self.clipped_steps = 0
        self.defaulted_steps = 0
        self.cut_off = 0  # episodes
        self._limit = int(plan.parameters.get("episode_limit", 0)) or math.inf
        self.succeeded = 0  # episodes
        self.retried = 0  # episodes of a second or later try
        self._faults: Counter[tuple[str, str]] = Counter()

    def over(self, rows: Iterable[Row]) -> Iterator[Row]:
        """Yield the same rows, and count each."""
        for row in rows:
            self.steps += row.steps
            self.clipped_steps += row.clipped
            self.defaulted_steps += row.defaulted
            self.succeeded += row.success
            self.cut_off += row.steps >= self._limit
            self.retried += row.attempt > 0
            if row.status != "ok":
                self._faults[row.status, brief_cause(row.detail)] += 1
            yield row

    @property
    def faults(self) -> list[FaultCount]:
        """The commonest first."""
        return [
            FaultCount(status=status, detail=detail, count=count)
            for (status, detail), count in self._faults.most_common()
        ]


def brief_cause(detail: str) -> str:
    """The most telling line: the first, or instead of a traceback its last."""
    lines = detail.strip().splitlines() or [""]
    before, separator, _ = lines[0].partition("Traceback (most recent call last):")
    return (before + lines[-1] if separator else lines[0])[:200]
