"""Details of a submission's scores: tasks, curves, episodes, from its result and ledger."""

from __future__ import annotations

from collections import Counter, OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from threading import Lock

from reglue.errors import UsageError
from reglue_bench.formatting import STATUSES, count, percent, plural, value
from reglue_bench.results.episodes import EpisodeRow, Episodes
from reglue_bench.results.learning import lowest_of
from reglue_bench.results.result import Result
from reglue_bench.results.scores import PerformanceScore, SuccessScore
from reglue_bench.run_folder import LEDGER
from reglue_competition.page.views.charts import bar, learning_curves, scale, success_curve
from reglue_competition.page.views.view_models import Detail, EpisodeView, TaskView
from reglue_competition.page.views.visibility import Visibility
from reglue_competition.ranking import result_of_run
from reglue_competition.store import Run, Submission

MOST_EPISODES = 1000
"""The most episodes of a benchmark that a page lists."""

_MOST_CACHED = 50  # details of runs, which take a ledger to read

_JUDGED = ("evaluate", "evaluate_before")


class Details:
    """The details of runs, with a cache of the last ones."""

    def __init__(self, runs: Path) -> None:
        """`runs` is the competition's folder of runs."""
        self._runs = runs
        self._cache: OrderedDict[tuple[str, int, int], Detail] = OrderedDict()
        self._lock = Lock()

    def of(self, submission: Submission, run: Run, sees: Visibility) -> Detail:
        """The details of a run that this visibility allows."""
        if sees is Visibility.SCORE or not run.result:
            return Detail()
        key = (submission.id, run.index, hash(run.result))
        with self._lock:
            cached = self._cache.get(key)
        if cached is None:
            cached = detail(run, self._runs / submission.folder / str(run.index))
            with self._lock:
                self._cache[key] = cached
                while len(self._cache) > _MOST_CACHED:
                    self._cache.popitem(last=False)
        return visible_part(cached, sees)


def visible_part(whole: Detail, sees: Visibility) -> Detail:
    """The part of the details that this visibility allows."""
    if sees is Visibility.CURVES:
        return Detail(curves=whole.curves if whole.unit == "run" else ())
    if sees is Visibility.EPISODES:
        return whole
    return replace(whole, episodes=(), more=0, curves=() if whole.curves_tell else whole.curves)


def detail(run: Run, folder: Path) -> Detail:
    """All details of a run; those of episodes need its ledger in `folder`."""
    try:
        result = result_of_run(run)
    except UsageError:
        return Detail()
    score = result.score
    if isinstance(score, PerformanceScore):
        return Detail(
            "run", _runs(score), learning_curves(score, lowest_of(result.parameters, score.runs))
        )
    rows = list(Episodes(folder)) if (folder / LEDGER).is_file() else []
    judged = [row for row in rows if row.phase in _JUDGED]
    first = judged[:MOST_EPISODES]
    curve = success_curve(result, rows) if result.measure.is_rate else None
    reports_success = isinstance(score, SuccessScore) or score.success is not None
    return Detail(
        tasks=_tasks(result, judged),
        curves=[curve] if curve else (),
        curves_tell=bool(result.parameters.get("hide_success_ends")),
        episodes=[_episode(row, reports_success=reports_success) for row in first],
        more=max(0, len(judged) - MOST_EPISODES),
    )


def _tasks(result: Result, judged: Sequence[EpisodeRow]) -> list[TaskView]:
    measure, score = result.measure, result.score
    before = score.before_adaptation if isinstance(score, SuccessScore) else None
    scores = result.score_by_task
    spreads = ((each.score, each.interval95) for each in scores.values())
    ends = scale(spreads if len(scores) > 1 else (), is_rate=measure.is_rate)
    faults = _faults(result, judged) if judged else {}
    return [
        TaskView(
            name=task,
            score=measure.amount(each.score),
            interval=measure.amounts(each.interval95) if each.interval95 else "",
            bar=bar(each.score, each.interval95, ends),
            of=each.of,
            before=percent(before.success_rate_per_task.get(task, 0.0)) if before else "",
            faults=count(faults.get(task, 0)) if judged else "",
        )
        for task, each in scores.items()
    ]


def _faults(result: Result, judged: Sequence[EpisodeRow]) -> Mapping[str, int]:
    """The number of failed or missing evaluation episodes of each task."""
    ended = Counter(row.task for row in judged if row.phase == "evaluate" and row.status == "ok")
    planned = {task: sum(of.values()) for task, of in result.coverage.episodes_planned.items()}
    return {task: max(0, of - ended[task]) for task, of in planned.items()}


def _runs(score: PerformanceScore) -> list[TaskView]:
    spreads = ((run.performance, None) for run in score.runs)
    ends = scale(spreads, is_rate=False)
    return [
        TaskView(
            name=f"run {run.run + 1}",
            score="–" if run.performance is None else value(run.performance),
            interval="",
            bar=bar(run.performance, None, ends),
            of=f"{plural(run.episodes, 'episode')}, {plural(run.steps, 'step')}",
            before="",
            faults="none" if run.status == "ok" else STATUSES.get(run.status, run.status),
        )
        for run in score.runs
    ]


def _episode(row: EpisodeRow, *, reports_success: bool) -> EpisodeView:
    """An episode's view. The outcome names success only if the environment reports it."""
    how = "success" if row.success else "failure"
    ended = STATUSES[how] if reports_success else "played to its end"
    outcome = ended if row.status == "ok" else STATUSES.get(row.status, row.status)
    return EpisodeView(
        task=row.task,
        goal=f"{row.variant}" + (" before adapting" if row.phase == "evaluate_before" else ""),
        outcome=outcome,
        amount=value(row.return_),
        steps=count(row.steps),
    )
