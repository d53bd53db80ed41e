"""Which of two agents is better, judged goal by goal on what both have played."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from reglue.errors import UsageError
from reglue_bench.paired import (
    Difference,
    bootstrap_interval,
    each_pair,
    sign_flip,
    stratified_mean,
)
from reglue_bench.result import Result
from reglue_bench.statistics import paired_goal_success, same_plan


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison(Difference):
    """How far one run's success lies above another's."""

    difference_per_task: Mapping[str, float]
    same_plan: bool  # else only cells named alike were paired


def compare(run: Result, reference: Result, *, rng: np.random.Generator) -> Comparison:
    """`run` minus `reference`. Raises UsageError where they have no cell in common.

    The interval is bootstrapped over goals within tasks, see `bootstrap_interval`. The
    probability of improvement is the mean over tasks of P(X > Y) + P(X = Y)/2 (Agarwal et al. 2021,
    "Deep RL at the edge of the statistical precipice", section 4.3), over paired goals.
    The p-value flips the signs of the goals' differences (Fisher's randomisation test).
    """
    pairs = paired_goal_success([run, reference])
    if not pairs:
        raise UsageError("the runs have no evaluation cell in common, so nothing to compare")
    differences = {task: rates[0] - rates[1] for task, rates in pairs.items()}  # (goals,) each
    p_value = sign_flip(differences, rng=rng)
    return Comparison(
        difference=stratified_mean(differences),
        interval95=bootstrap_interval(differences, rng=rng),
        difference_per_task={task: float(each.mean()) for task, each in differences.items()},
        probability_of_improvement=stratified_mean(
            {task: (np.sign(each) + 1) / 2 for task, each in differences.items()}
        ),
        p_value=p_value,
        p_holm=p_value,
        pairs=sum(len(each) for each in differences.values()),
        unlike=sum(int(np.count_nonzero(each)) for each in differences.values()),
        same_plan=same_plan([run, reference]),
    )


def compare_all(results: Sequence[Result], *, seed: int) -> dict[tuple[int, int], Comparison]:
    """Every later run minus every earlier one, see `each_pair`."""
    return each_pair(results, compare, seed=seed)
