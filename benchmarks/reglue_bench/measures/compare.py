"""Which of two runs is better, judged on the units that both have played.

A run is judged by one score, such as success of goals, returns of episodes, or the performance
of an agent while it learns. Its `Measure` says what is paired, and what follows from differences.
"""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import TypeAlias, TypeVar

import numpy as np

from reglue.errors import UsageError
from reglue_bench.float_range import FloatArray, unit_of, within
from reglue_bench.results.result import Result, Units
from reglue_bench.statistics import Inference, Interval

Goal: TypeAlias = tuple[str, int]  # task, variant
Cell: TypeAlias = tuple[str, int, int, int]  # a goal, and two numbers that name one of its episodes


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """How much better one result is than another: positive if it is better."""

    difference: float  # of means over tasks; -1 to 1 of success rates, else in the task's units
    difference_per_task: Mapping[str, float]
    interval95: Interval | None  # of this pair alone; None: too few pairs, or all differ alike
    probability_of_improvement: float | None  # 0 to 1; 0.5 means neither; None: no runs to draw
    p_value: (
        float | None
    )  # two-sided; below 0.05 if the interval excludes 0; None without an interval
    p_holm: float | None  # corrected for all pairs; equals `p_value` for a single pair
    pairs: int  # of goals, episodes or runs, that were compared
    unlike: int  # of these
    same_plan: bool  # otherwise only cells of the same name were paired

    def times(self, unit: float) -> Difference:
        """Of the same scores in the unit that they were divided by."""
        if unit == 1:
            return self
        inference = Inference(self.interval95, self.p_value).times(unit)
        of_tasks = self.difference_per_task.items()
        return replace(
            self,
            difference=within(self.difference * unit),
            difference_per_task={task: within(each * unit) for task, each in of_tasks},
            interval95=inference.interval95,
        )


def compare(run: Result, reference: Result) -> Difference:
    """`run` minus `reference`. Raises UsageError if they cannot be compared.

    Success: Bonett & Price's interval over goals (`of_success`). Returns: the paired t-test over
    episodes, or over goals where a task has several. Performance: the paired t-test over runs,
    since run k of either begins with the same seed; valid whether or not a shared seed makes runs
    alike. The probability of improvement is over all pairs of a unit of one and one of the other.
    """
    return compare_units(units_of(run), units_of(reference))


def compare_all(results: Sequence[Result]) -> dict[tuple[int, int], Difference]:
    """Compare every later run with every earlier one, see `over_pairs`.

    Raises UsageError for a result whose episodes are needed and not there.
    """
    return over_pairs([units_of(result) for result in results], compare_units)


def units_of(result: Result) -> Units:
    """The scores of a run's units. Raises UsageError if there is no ledger."""
    return Units(result, result.measure.read(result))


def compare_units(run: Units, reference: Units) -> Difference:
    """Compare two runs like `compare`; their units are read already."""
    measure, other = run.result.measure, reference.result.measure
    if measure != other:
        raise UsageError(f"one run is judged by its {measure.name}, the other by its {other.name}")
    pairs = measure.pair(run, reference)
    unit = unit_of(*(each for pair in pairs.values() for each in pair))
    differences = {task: ours / unit - theirs / unit for task, (ours, theirs) in pairs.items()}
    per_task = {task: float(each.mean()) for task, each in differences.items()}
    inference = measure.infer(differences)
    better = [over_all_pairs(*each) for each in pairs.values()] if measure.improves else []
    return Difference(
        difference=float(np.mean(list(per_task.values()))),
        difference_per_task=per_task,
        interval95=inference.interval95,
        probability_of_improvement=float(np.mean(better)) if better else None,
        p_value=inference.p_value,
        p_holm=inference.p_value,
        pairs=sum(len(each) for each in differences.values()),
        unlike=sum(int(np.count_nonzero(ours != theirs)) for ours, theirs in pairs.values()),
        same_plan=same_plan([run.result, reference.result]),
    ).times(unit)


_T = TypeVar("_T")


def over_pairs(
    results: Sequence[_T], compare: Callable[[_T, _T], Difference]
) -> dict[tuple[int, int], Difference]:
    """Compare each later result with each earlier one, by place; `p_holm` is over all pairs.

    `compare` raises UsageError for a pair that cannot be compared, which is absent then.
    """
    differences = {}
    for earlier, later in combinations(range(len(results)), 2):
        with contextlib.suppress(UsageError):
            differences[later, earlier] = compare(results[later], results[earlier])
    tested = {pair: p for pair, each in differences.items() if (p := each.p_value) is not None}
    corrected = dict(zip(tested, holm(list(tested.values())), strict=True))
    return {pair: replace(each, p_holm=corrected.get(pair)) for pair, each in differences.items()}


def over_all_pairs(one: FloatArray, other: FloatArray) -> float:
    """P(X > Y) + P(X = Y)/2 over all pairs of a value of one and a value of the other.

    The probability of improvement of Agarwal et al. 2021, "Deep RL at the edge of the
    statistical precipice", section 4.3.
    """
    return float((2.0 * (one[:, None] > other) + (one[:, None] == other)).mean() / 2)


def holm(p_values: Sequence[float]) -> list[float]:
    """p-values corrected for their number (Holm 1979, Scand. J. Statistics 6:65).

    The smallest is multiplied by their number, the next by one less, and so on; none is above 1,
    nor below one that was smaller.
    """
    p = np.asarray(p_values, np.float64)
    order = np.argsort(p)
    stepped = np.maximum.accumulate(p[order] * np.arange(len(p), 0, -1))
    corrected = np.empty_like(p)
    corrected[order] = np.minimum(stepped, 1)
    return [float(each) for each in corrected]


def same_plan(results: Sequence[Result]) -> bool:
    """Whether all of them played one plan, and so the same cells."""
    return len({result.plan_sha256 for result in results}) == 1


def goals_per_task(result: Result) -> dict[str, int]:
    """The number of planned goals of each task."""
    planned = result.coverage.episodes_planned
    return {task: len(planned[task]) for task in result.success_rate_per_task}


@dataclass(frozen=True, slots=True)
class Successes:
    """Which episodes of a run succeeded."""

    cells: Mapping[Cell, bool]  # of those that were played
    by_goal: Mapping[str, FloatArray]
    """The success of a task's planned goals, in the order of their numbers, shape (goals,)."""


def successes(result: Result, cells: Mapping[Cell, bool]) -> Successes:
    """The successes of a run that played these cells; missing cells count as failures."""
    planned = result.coverage.episodes_planned
    won = Counter(cell[:2] for cell, success in cells.items() if success)
    return Successes(
        cells,
        {
            task: np.array(
                [won[task, goal] / planned[task][goal] for goal in sorted(planned[task])]
            )
            for task in result.success_rate_per_task
        },
    )


def success_by_goal(runs: Sequence[Units]) -> dict[str, dict[int, FloatArray]]:
    """Success of every run, shape (runs,), by task and variant, of goals that were played.

    On one plan every planned episode counts, and what a run misses is its failure. On
    different plans only the cells that all have: same task, variant and repeat, and place
    among the episodes of these. Runs of other goals or another horizon have none in common.
    """
    results = [run.result for run in runs]
    if len({result.goals_sha256 for result in results}) > 1:
        return {}  # variant 3 of one is another goal than variant 3 of the other
    shared = same_plan(results)
    played: list[Mapping[Cell, bool]] = [run.scores.cells for run in runs]
    cells = set(played[0]).union(*played) if shared else set(played[0]).intersection(*played)
    goals: dict[Goal, list[list[bool]]] = {}  # an entry an episode, in it one a run
    for cell in sorted(cells):
        goals.setdefault(cell[:2], []).append([each.get(cell, False) for each in played])
    planned = results[0].coverage.episodes_planned
    rates: dict[str, dict[int, FloatArray]] = {}
    for (task, variant), rows in goals.items():
        success = np.sum(rows, axis=0) / (planned[task][variant] if shared else len(rows))
        rates.setdefault(task, {})[variant] = success
    return {task: rates[task] for task in results[0].success_rate_per_task if task in rates}


def paired_goal_success(runs: Sequence[Units]) -> dict[str, FloatArray]:
    """The success on each task's goals, shape (runs, goals); a column is one goal.

    On one plan every planned goal, also those that no run has played. On different plans as
    `success_by_goal`.
    """
    if same_plan([run.result for run in runs]):
        played: list[Successes] = [run.scores for run in runs]
        return {
            task: np.stack([each.by_goal[task] for each in played]) for task in played[0].by_goal
        }
    by_task = success_by_goal(runs)
    return {task: np.stack(list(goals.values()), axis=1) for task, goals in by_task.items()}
