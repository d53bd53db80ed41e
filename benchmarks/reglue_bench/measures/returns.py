"""Returns of a frozen agent in environments that never report success."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from reglue.errors import UsageError
from reglue_bench.float_range import FloatArray
from reglue_bench.measures.compare import same_plan
from reglue_bench.measures.success import evaluated
from reglue_bench.results.episodes import EpisodeRow
from reglue_bench.results.result import Measure, Pairs, Result, Units
from reglue_bench.results.scores import MEAN_RETURN
from reglue_bench.statistics import averaged_by_goal, student

Episode: TypeAlias = tuple[int, ...]  # a variant, and numbers that name one of its episodes


@dataclass(frozen=True, slots=True)
class Returns:
    """A run's returns; an episode that was not played to its end has the worst."""

    by_task: Mapping[str, Mapping[Episode, float]]  # of episodes that were begun
    worst: Mapping[str, float]  # of each task

    def values(
        self, task: str, episodes: Sequence[Episode], planned: Mapping[int, int]
    ) -> FloatArray:
        """The returns of these episodes, with the worst return for missing ones of `planned`.

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
        value = self.by_task.get(task, {}).get(episode)
        return self.worst[task] if value is None else value


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
            values = (*played.get(task, {}).values(), *lost.get(task, {}).values())
            worst[task] = min([float(declared), *values])
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
    """Both runs' returns of every planned episode, also of those that neither has played."""
    ours, theirs = run.scores, reference.scores
    pairs = {}
    for task, planned in run.result.coverage.episodes_planned.items():
        known = sorted({*ours.by_task.get(task, {}), *theirs.by_task.get(task, {})})
        pairs[task] = (ours.values(task, known, planned), theirs.values(task, known, planned))
    return pairs


RETURN = Measure(
    shown_by="reglue_bench.renderers.returns_renderer:RETURN",
    name=MEAN_RETURN,
    unit="episode",
    least=2,
    enough="two episodes",
    read=lambda result: read_returns(result, lambda row: row.repeat),
    pair=_pair,
    infer=student,
)
