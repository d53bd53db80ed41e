"""Returns of a frozen agent, where the environment never reports success."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeAlias

from rich.table import Table

from reglue.errors import UsageError
from reglue_bench.criteria.criterion import (
    Criterion,
    Named,
    TaskScore,
    episode_facts,
    missing_words,
    partial,
    score_table,
    what_differs,
)
from reglue_bench.criteria.success import evaluated
from reglue_bench.formatting import number, plural
from reglue_bench.report.views import ComparisonView, Plot
from reglue_bench.results.episodes import EpisodeRow
from reglue_bench.results.result import Interval, Result
from reglue_bench.statistics.compare import Pairs, Units, same_plan
from reglue_bench.statistics.intervals import FloatArray, averaged_by_goal, student


def _score(result: Result) -> tuple[float | None, Interval | None]:
    return result.mean_return, result.intervals95.mean if result.intervals95 else None


def _per_task(result: Result) -> dict[str, TaskScore]:
    """Of the tasks that have a score."""
    planned = result.coverage.episodes_planned
    intervals = result.intervals95.per_task if result.intervals95 else {}
    return {
        task: TaskScore(mean, intervals.get(task), plural(sum(planned[task].values()), "episode"))
        for task, mean in result.returns_per_task.items()
        if mean is not None
    }


Episode: TypeAlias = tuple[int, ...]  # a variant, and numbers that name one of its episodes


@dataclass(frozen=True, slots=True)
class Returns:
    """A run's returns; an episode that was not played to its end has the worst."""

    by_task: Mapping[str, Mapping[Episode, float]]  # of episodes that were begun
    worst: Mapping[str, float]  # of each task

    def values(
        self, task: str, episodes: Sequence[Episode], planned: Mapping[int, int]
    ) -> FloatArray:
        """Of these episodes, and the worst for the rest of what was `planned`.

        A goal's are averaged; of a task with one goal it is a value an episode.
        """
        goals: dict[int, list[float]] = {variant: [] for variant in planned}
        for each in episodes:
            goals.setdefault(each[0], []).append(self._of(task, each))
        for variant, count in planned.items():
            if rest := count - len(goals[variant]):
                goals[variant] += [self.worst[task]] * rest
        return averaged_by_goal({task: goals})[task]

    def _of(self, task: str, episode: Episode) -> float:
        found = self.by_task.get(task, {}).get(episode)
        return self.worst[task] if found is None else found


def read_returns(result: Result, number: Callable[[EpisodeRow], int]) -> Returns:
    """The returns of a run, whose episodes of one goal have those numbers.

    Raises UsageError if some have no return, and nobody can say what those are worth.
    """
    played: dict[str, dict[Episode, float]] = {}
    lost: dict[str, dict[Episode, float]] = {}  # as far as they were played
    places: Counter[tuple[str, int, int]] = Counter()  # each run plays its cells in its own order
    for row in evaluated(result):
        goal = (row.task, row.variant, number(row))
        episode = (*goal[1:], places[goal])
        places[goal] += 1
        if row.status == "ok":
            played.setdefault(row.task, {})[episode] = row.return_
        else:
            lost.setdefault(row.task, {})[episode] = row.return_
    declared = result.parameters.get("worst_performance")
    worst: dict[str, float] = {}
    if not is_whole(result):
        if not isinstance(declared, int | float):
            raise UsageError(
                f"{result.agent.label} did not play every episode to its end, and what those are "
                "worth is not known: declare the run's worst performance"
            )
        for task in result.coverage.episodes_planned:
            seen = (*played.get(task, {}).values(), *lost.get(task, {}).values())
            worst[task] = min([float(declared), *seen])
    for task, unplayed in lost.items():
        played.setdefault(task, {}).update(dict.fromkeys(unplayed, worst[task]))
    return Returns(played, worst)


def is_whole(result: Result) -> bool:
    """Whether every episode was played to its end."""
    return set(result.status_counts) == {"ok"}


def _pair(run: Units, reference: Units) -> Pairs:
    if not same_plan((run.result, reference.result)):
        raise UsageError("returns are compared on one plan, episode by episode")
    return paired_on_one_plan(run, reference)


def paired_on_one_plan(run: Units, reference: Units) -> Pairs:
    """By every planned episode, also those that neither has played."""
    ours, theirs = run.scores, reference.scores
    pairs = {}
    for task, planned in run.result.coverage.episodes_planned.items():
        known = sorted({*ours.by_task.get(task, {}), *theirs.by_task.get(task, {})})
        pairs[task] = (ours.values(task, known, planned), theirs.values(task, known, planned))
    return pairs


def _apart(run: Named, first: Named) -> str:
    return (
        f"{run[0]} and {first[0]} have other plans, or have episodes whose worth is not known: "
        f"they are shown and not compared{what_differs(run, first)}."
    )


def _table(result: Result) -> Table:
    intervals = result.intervals95.per_task if result.intervals95 else {}
    mean, interval = _score(result)

    def words(interval: Interval | None) -> str:
        return f"{number(interval[0])} – {number(interval[1])}" if interval else "–"

    return score_table(
        result,
        ["task", "mean return", "95 % interval"],
        [
            [task, "–" if mean is None else number(mean), words(intervals.get(task))]
            for task, mean in result.returns_per_task.items()
        ],
        ["mean over tasks", "withheld" if mean is None else number(mean), words(interval)],
    )


def _notes(result: Result) -> list[str]:
    lines = [
        "judged by its mean return, as whether an episode succeeded cannot be known: this "
        f"environment does not report success{instead(result)}"
    ]
    if missing := missing_words(result):
        known = "counts as the worst return" if result.mean_return is not None else "has no return"
        lines.append(f"{missing}; each {known}")
    return lines


def instead(result: Result) -> str:
    """Names the benchmark that is made for returns; nothing for files, which have names."""
    procedure, _, environment = result.benchmark.partition(":")
    if procedure != result.procedure or not environment:
        return ""
    return f"; evaluate:{environment} plays 100 seeded episodes of it, for a mean return"


def _plots(result: Result, prefix: str) -> list[Plot]:
    from reglue_bench.report.plots.tasks import per_task

    scores = _per_task(result).values()
    says_more = len(scores) > 1 or any(each.interval95 for each in scores)  # than the headline
    return [per_task([("", result)], plot_id=f"{prefix}-tasks")] if says_more else []


def _beside(
    view: ComparisonView, runs: Sequence[Named], _alike: Sequence[int], seed: int
) -> ComparisonView:
    from reglue_bench.report.plots.tasks import per_task
    from reglue_bench.report.seeds_view import with_training_seeds

    shown = with_training_seeds(view, runs, seed=seed)
    return replace(shown, plots=[*shown.plots, per_task(runs, plot_id="compare-tasks")])


RETURN = Criterion(
    name="mean return",
    unit="episode",
    least=2,
    enough="two episodes",
    score=_score,
    per_task=_per_task,
    per_task_caption="Mean return of a task's planned episodes, those of a goal averaged "
    "first, with its 95 % interval.",
    read=lambda result: read_returns(result, lambda row: row.repeat),
    pair=_pair,
    infer=student,
    apart=_apart,
    caption=lambda _first: (
        "Mean return, as the environment does not report success. Differences are in the "
        "task's units, paired episode by episode."
    ),
    notes=_notes,
    table=_table,
    meaning=lambda _result: "mean return",
    tracks=lambda results, _alike: [None] * len(results),
    facts=episode_facts,
    counts=lambda result: {"played": result.status_counts.get("ok", 0)},
    plots=_plots,
    beside=_beside,
    beware=partial,
    reading=Path(__file__).with_name("returns.html.jinja"),
)
