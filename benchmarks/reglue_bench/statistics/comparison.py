"""Which of two agents is better, judged on the goals or episodes that both have played."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from reglue.errors import UsageError
from reglue_bench.results.result import Result
from reglue_bench.statistics.differences import of_success, returns_by_goal, student
from reglue_bench.statistics.paired import Difference, over_all_pairs, over_pairs
from reglue_bench.statistics.success import paired_goal_success, same_plan


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison(Difference):
    """How far one run's success lies above another's."""

    difference_per_task: Mapping[str, float]
    same_plan: bool  # else only cells named alike were paired


def compare(run: Result, reference: Result) -> Comparison:
    """`run` minus `reference`. Raises UsageError where they have no cell in common.

    Interval and p-value: see `of_success`. There is no probability of improvement, which is of
    several runs of either.
    """
    if run.is_by_return or reference.is_by_return:
        return _by_return(run, reference)
    pairs = paired_goal_success([run, reference])
    if not pairs:
        raise UsageError("the runs have no evaluation cell in common, so nothing to compare")
    differences = {task: rates[0] - rates[1] for task, rates in pairs.items()}  # (goals,) each
    per_task = {task: float(each.mean()) for task, each in differences.items()}
    found = of_success(differences)
    return Comparison(
        difference=float(np.mean(list(per_task.values()))),
        interval95=found.interval95,
        difference_per_task=per_task,
        probability_of_improvement=None,
        p_value=found.p_value,
        p_holm=found.p_value,
        pairs=sum(len(each) for each in differences.values()),
        unlike=sum(int(np.count_nonzero(each)) for each in differences.values()),
        same_plan=same_plan([run, reference]),
    )


def _by_return(run: Result, reference: Result) -> Comparison:
    """Of mean returns: the paired t-test over episodes, or over goals where a task has several."""
    both = (run, reference)
    if not (same_plan(both) and all(each.is_by_return for each in both)):
        raise UsageError("returns are compared on one plan, episode by episode")
    if any(set(each.status_counts) != {"ok"} for each in both):
        raise UsageError("returns are compared where every episode was played to its end")
    ours, theirs = (returns_by_goal(each) for each in both)
    differences = {task: ours[task] - theirs[task] for task in ours}
    per_task = {task: float(each.mean()) for task, each in differences.items()}
    found = student(differences)
    return Comparison(
        difference=float(np.mean(list(per_task.values()))),
        interval95=found.interval95,
        difference_per_task=per_task,
        probability_of_improvement=float(
            np.mean([over_all_pairs(ours[task], theirs[task]) for task in ours])
        ),
        p_value=found.p_value,
        p_holm=found.p_value,
        pairs=sum(len(each) for each in differences.values()),
        unlike=sum(int(np.count_nonzero(each)) for each in differences.values()),
        same_plan=True,
    )


def compare_all(results: Sequence[Result]) -> dict[tuple[int, int], Comparison]:
    """Every later run minus every earlier one, see `over_pairs`.

    Raises UsageError for a result without its ledger.
    """
    for result in results:
        iter(result.episodes)
    return over_pairs(results, compare)
