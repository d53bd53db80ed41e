"""The comparison of two runs, on the units that both have played.

A run is judged by one score, such as success of goals, returns of episodes, or the performance
of an agent while it learns. Its `Measure` says which units are paired, and computes the interval
and the p-value from their differences.
"""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import combinations
from typing import TypeAlias, TypeVar

import numpy as np

from reglue.errors import UsageError
from reglue_bench.float_range import FloatArray, mean, unit_of, within
from reglue_bench.results.result import Result
from reglue_bench.statistics import Inference, Interval, averaged_by_goal

Key: TypeAlias = tuple[int, int, int]
"""A unit of a task: its variant, its number or seed, and its place among units of the same two."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """The difference between one result and another: positive if it is better."""

    difference: float  # of means over tasks; -1 to 1 of success rates, else in the task's units
    difference_per_task: Mapping[str, float]
    interval95: Interval | None  # of this pair alone; None: too few pairs, or all differ alike
    probability_of_improvement: float | None  # 0 to 1; 0.5 means neither; None: no runs to draw
    p_value: (
        float | None
    )  # two-sided; below 0.05 if the interval excludes 0; None without an interval
    p_holm: float | None  # corrected for all pairs; equals `p_value` for a single pair
    pairs: int  # how many goals, episodes or runs were compared
    unlike: int  # in how many of these pairs the two values differ
    same_plan: bool  # otherwise only the units that both played were paired

    def times(self, unit: float) -> Difference:
        """The difference of the scores multiplied by `unit`."""
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
    return compare_units(Units(run), Units(reference))


def compare_all(results: Sequence[Result]) -> dict[tuple[int, int], Difference]:
    """Compare every later run with every earlier one, see `over_pairs`.

    Raises UsageError for a result without the ledger that its units are read from.
    """
    return over_pairs([Units(result) for result in results], compare_units)


def compare_units(run: Units, reference: Units) -> Difference:
    """As `compare`, of runs whose units have been read."""
    measure, other = run.result.measure, reference.result.measure
    if measure != other:
        raise UsageError(f"one run is judged by its {measure.name}, the other by its {other.name}")
    pairs = paired([run, reference])
    unit = unit_of(*pairs.values())
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


class Units:
    """The units of a run, which are paired with those of other runs; read once."""

    def __init__(self, result: Result) -> None:
        """Raises UsageError if the units are episodes, and there is no ledger to read them from."""
        self.result = result
        self.by_task: dict[str, dict[Key, float | None]] = {}  # see UnitScore.value
        self.have_seeds = True
        self._measure = result.measure
        places: Counter[tuple[str, int, int]] = Counter()
        for row in result.units:
            seed = row.seed if self._measure.by_seed else None
            goal = (row.task, row.variant, row.number if seed is None else seed)
            self.by_task.setdefault(row.task, {})[*goal[1:], places[goal]] = row.value
            self.have_seeds &= row.seed is not None
            places[goal] += 1  # each run plays its cells in its own order
        self._of_plan: dict[str, tuple[list[Key], FloatArray]] = {}

    def of_plan(self, task: str) -> tuple[list[Key], FloatArray]:
        """A task's keys, ascending, and the `values` of all its planned units."""
        if task not in self._of_plan:
            keys = sorted(self.by_task.get(task, ()))
            planned = self.result.coverage.episodes_planned.get(task, {})
            self._of_plan[task] = keys, self.values(task, keys, planned)
        return self._of_plan[task]

    def values(self, task: str, keys: Sequence[Key], planned: Mapping[int, int]) -> FloatArray:
        """The values of the units with these keys, of one task.

        Each variant is filled up with the worst value to as many units as are `planned`. Values of
        one goal are averaged if goals are the units, or if episodes are and the task has several
        goals. Raises UsageError if the value of a unit is not known.
        """
        values, worst = self.by_task.get(task, {}), cache(lambda: self._worst(task))
        goals: dict[int, list[float]] = {variant: [] for variant in planned}
        for key in keys:
            value = values[key] if key in values else worst()
            goals.setdefault(key[0], []).append(self._known(value))
        for variant, count in planned.items():
            if rest := count - len(goals[variant]):
                goals[variant] += [worst()] * rest
        if self._measure.unit == "goal":
            return np.array([mean(of) for of in goals.values()])
        if self._measure.unit == "run":
            return np.array([each for of in goals.values() for each in of])
        return averaged_by_goal({task: goals})[task]

    def _worst(self, task: str) -> float:
        """The value of a unit that was not played."""
        if self._measure.is_rate:
            return 0.0
        declared = self.result.parameters.get("worst_performance")
        known = self._known(float(declared) if isinstance(declared, int | float) else None)
        return min([known, *map(self._known, self.by_task.get(task, {}).values())])

    def _known(self, value: float | None) -> float:
        if value is None:
            raise UsageError(
                f"{self.result.agent.label} did not play every {self._measure.unit} to its "
                "end, and what those are worth is not known: declare the run's worst performance"
            )
        return value


def paired(runs: Sequence[Units]) -> dict[str, FloatArray]:
    """The values of the units in which runs are compared, by task, shape (runs, units).

    Runs of one plan share all units of that plan; one that a run did not play has its worst value.
    Runs of different plans share the units that all of them played: those with the same task,
    variant, and number or seed. Raises UsageError if they share none, or if the value of a unit is
    not known.
    """
    results = [run.result for run in runs]
    measure, planned = results[0].measure, results[0].coverage.episodes_planned
    if len({measure.alike(result) for result in results}) > 1:
        raise UsageError(
            "the runs are of other environments, goals, plans or metrics, and cannot be compared"
        )
    tasks = planned or runs[0].by_task
    if same_plan(results):
        pairs = {task: _on_one_plan(runs, task, planned.get(task, {})) for task in tasks}
    else:
        _check_plans_pair(runs)
        shared = {
            task: sorted(set.intersection(*(set(run.by_task.get(task, ())) for run in runs)))
            for task in tasks
        }
        pairs = {
            task: np.stack([run.values(task, keys, {}) for run in runs])
            for task, keys in shared.items()
            if keys
        }
    if not pairs:
        what = "seed" if measure.by_seed else measure.unit
        raise UsageError(f"the runs have no {what} in common and cannot be compared")
    return pairs


def _on_one_plan(runs: Sequence[Units], task: str, planned: Mapping[int, int]) -> FloatArray:
    of_plan = [run.of_plan(task) for run in runs]
    if all(keys == of_plan[0][0] for keys, _ in of_plan):
        return np.stack([values for _, values in of_plan])
    keys = sorted(set().union(*(keys for keys, _ in of_plan)))
    return np.stack([run.values(task, keys, planned) for run in runs])


def _check_plans_pair(runs: Sequence[Units]) -> None:
    """Check that runs of different plans can be paired. Raises UsageError."""
    measure = runs[0].result.measure
    if measure.by_seed and not all(run.have_seeds for run in runs):
        raise UsageError("seeds that a secret keys are compared on one plan")
    if not measure.is_rate and any("missing" in run.result.status_counts for run in runs):
        raise UsageError("runs of different plans are compared once all of both is played")


_T = TypeVar("_T")


def over_pairs(
    results: Sequence[_T], compare: Callable[[_T, _T], Difference]
) -> dict[tuple[int, int], Difference]:
    """Compare each later result with each earlier one, by place; `p_holm` is over all pairs.

    A pair for which `compare` raises UsageError is absent.
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
