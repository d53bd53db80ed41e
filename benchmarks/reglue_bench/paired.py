"""Statistics of paired differences: goals within tasks, or runs of agents that learn."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Protocol, TypeVar

import numpy as np

from reglue.errors import UsageError
from reglue_bench.result import Interval, Result
from reglue_bench.statistics import FloatArray

RESAMPLES = 10_000

_LEAST_DEGREES = 4
"""Of fewer (four runs, say) no bootstrap interval covers what it says: too little to draw from."""


def stratified_mean(strata: Mapping[str, FloatArray]) -> float:
    """The mean over strata of their means."""
    return float(np.mean([each.mean() for each in strata.values()]))


def bootstrap_interval(
    differences: Mapping[str, FloatArray], *, rng: np.random.Generator
) -> Interval | None:
    """95 % confidence of the stratified mean: an expanded percentile bootstrap within strata.

    None where it would not cover that: below five differences in one stratum, six in two, and
    so on, not counting strata of one.

    Percentiles of n draws are too narrow by √((n-1)/n), and use a normal quantile where a t
    would be needed; expanded ones make up for both (Hesterberg 2015, The American
    Statistician 69:371). n is that of the smallest stratum with more than one.
    """
    sizes = [len(each) for each in differences.values() if len(each) > 1]
    degrees = sum(sizes) - len(sizes)
    if degrees < _LEAST_DEGREES:
        return None
    # Here, since importing scipy takes a while and most commands need none of it.
    from scipy.special import ndtr, stdtrit

    total = np.zeros(RESAMPLES)
    for each in differences.values():
        # To draw is to draw how often each value comes: there are few values.
        values, counts = np.unique(each, return_counts=True)
        total += rng.multinomial(len(each), counts / len(each), size=RESAMPLES) @ values / len(each)
    n = min(sizes)
    below = ndtr(-math.sqrt(n / (n - 1)) * stdtrit(degrees, 0.975))
    low, high = np.quantile(total / len(differences), [below, 1 - below])
    return float(low), float(high)


def sign_flip(differences: Mapping[str, FloatArray], *, rng: np.random.Generator) -> float:
    """Two-sided p-value of Fisher's randomisation test: each difference may as well be its
    negative. Exact where all signs can be tried, else over 10,000 draws.
    """
    weighed = np.concatenate([each / len(each) for each in differences.values()])
    weighed = weighed[weighed != 0]  # a tie has no sign to flip
    if len(weighed) < 2:  # either sign is as far from 0
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """How far one result lies above another: positive, it is the better one."""

    difference: float  # of means; -1 to 1 of success rates, else in the task's units
    interval95: Interval | None  # of the difference of this pair alone; None: too few pairs
    probability_of_improvement: float  # 0 to 1; 0.5 means neither
    p_value: float  # two-sided
    p_holm: float  # corrected for all pairs; `p_value` where there is one pair
    pairs: int  # of goals, or of runs, that were compared
    unlike: int  # of these


DifferenceT = TypeVar("DifferenceT", bound=Difference)
DifferenceT_co = TypeVar("DifferenceT_co", bound=Difference, covariant=True)


class Compare(Protocol[DifferenceT_co]):
    """One result minus another. Raises UsageError where there is nothing to compare."""

    def __call__(
        self, run: Result, reference: Result, *, rng: np.random.Generator
    ) -> DifferenceT_co:
        """Draws from `rng`."""


def each_pair(
    results: Sequence[Result], compare: Compare[DifferenceT], *, seed: int
) -> dict[tuple[int, int], DifferenceT]:
    """Every later one minus every earlier one, by their places; `p_holm` over all pairs.

    A pair that cannot be compared is absent. Each draws from a generator of its own, and all
    draw the same: a pair's numbers do not depend on what else is compared, and results that
    are alike differ alike from a third.
    """
    found = {}
    for earlier, later in combinations(range(len(results)), 2):
        rng = np.random.default_rng(seed)
        with contextlib.suppress(UsageError):
            found[later, earlier] = compare(results[later], results[earlier], rng=rng)
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
