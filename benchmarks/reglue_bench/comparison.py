"""Which of two agents is better, judged goal by goal on what both have played."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np

from reglue.errors import UsageError
from reglue_bench.result import Interval, Result
from reglue_bench.statistics import FloatArray, paired_goal_success, same_plan

RESAMPLES = 10_000


@dataclass(frozen=True, slots=True)
class Comparison:
    """How far one run's success lies above another's: positive, it is the better one."""

    difference: float  # of mean success rates, -1 to 1
    interval95: Interval  # of the difference
    difference_per_task: Mapping[str, float]
    probability_of_improvement: float  # 0 to 1; 0.5 means neither
    p_value: float  # two-sided
    p_holm: float  # corrected for all pairs; `p_value` where there is one pair
    goals: int  # that were paired
    same_plan: bool  # else only cells named alike were paired


def compare(run: Result, reference: Result, *, rng: np.random.Generator) -> Comparison:
    """`run` minus `reference`. Raises UsageError where they have no cell in common.

    The interval is a percentile bootstrap over goals within tasks. The probability of
    improvement is the mean over tasks of P(X > Y) + P(X = Y)/2 (Agarwal et al. 2021,
    "Deep RL at the edge of the statistical precipice", section 4.3), over paired goals.
    The p-value flips the signs of the goals' differences (Fisher's randomisation test).
    """
    pairs = paired_goal_success([run, reference])
    if not pairs:
        raise UsageError("the runs have no evaluation cell in common, so nothing to compare")
    differences = {task: rates[0] - rates[1] for task, rates in pairs.items()}  # (goals,) each
    p_value = _sign_flip(differences, rng=rng)
    return Comparison(
        difference=_stratified_mean(differences),
        interval95=_bootstrap_interval(differences, rng=rng),
        difference_per_task={task: float(each.mean()) for task, each in differences.items()},
        probability_of_improvement=_stratified_mean(
            {task: (np.sign(each) + 1) / 2 for task, each in differences.items()}
        ),
        p_value=p_value,
        p_holm=p_value,
        goals=sum(len(each) for each in differences.values()),
        same_plan=same_plan([run, reference]),
    )


def compare_all(results: Sequence[Result], *, seed: int) -> dict[tuple[int, int], Comparison]:
    """Every later run minus every earlier one, by their places; Holm over all pairs.

    A pair without a common cell is absent. Each pair draws from a generator of its own,
    so that its numbers do not depend on what else is compared.
    """
    found: dict[tuple[int, int], Comparison] = {}
    for earlier, later in combinations(range(len(results)), 2):
        rng = np.random.default_rng([seed, earlier, later])
        try:
            found[later, earlier] = compare(results[later], results[earlier], rng=rng)
        except UsageError:
            continue
    corrected = holm([each.p_value for each in found.values()])
    return {
        pair: replace(each, p_holm=p_value)
        for (pair, each), p_value in zip(found.items(), corrected, strict=True)
    }


def holm(p_values: Sequence[float]) -> list[float]:
    """p-values corrected for their number (Holm 1979, Scand. J. Statistics 6:65)."""
    if not p_values:
        return []
    # Here, since importing statsmodels takes seconds.
    from statsmodels.stats.multitest import multipletests

    return [float(each) for each in multipletests(p_values, method="holm")[1]]


def _stratified_mean(goals: Mapping[str, FloatArray]) -> float:
    return float(np.mean([each.mean() for each in goals.values()]))


def _bootstrap_interval(
    differences: Mapping[str, FloatArray], *, rng: np.random.Generator
) -> Interval:
    total = np.zeros(RESAMPLES)
    for each in differences.values():
        # To draw goals is to draw how often each value comes: there are few values.
        values, goals = np.unique(each, return_counts=True)
        total += rng.multinomial(len(each), goals / len(each), size=RESAMPLES) @ values / len(each)
    low, high = np.quantile(total / len(differences), [0.025, 0.975])
    return float(low), float(high)


def _sign_flip(differences: Mapping[str, FloatArray], *, rng: np.random.Generator) -> float:
    weighed = np.concatenate([each / len(each) for each in differences.values()])
    weighed = weighed[weighed != 0]  # a tie has no sign to flip
    if not len(weighed):
        return 1.0
    # Here, since importing scipy.stats takes a second.
    from scipy.stats import permutation_test

    # Scaled to whole numbers where goals are won or lost, so that equal sums compare equal.
    test = permutation_test(
        (weighed / np.abs(weighed).min(),),
        np.sum,
        permutation_type="samples",
        vectorized=True,
        n_resamples=RESAMPLES - 1,
        batch=500,
        rng=rng,
    )
    return min(1.0, float(test.pvalue))
