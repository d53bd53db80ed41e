"""Several runs of one agent that differ in their training seed alone."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from reglue.errors import UsageError
from reglue_bench.paired import Difference, over_all_pairs
from reglue_bench.result import Interval, Result
from reglue_bench.statistics import FloatArray, paired_goal_success, same_plan

RESAMPLES = 10_000
THRESHOLDS = 51
LEAST_SEEDS = 5  # of fewer no interval covers what it says
TINY = 1e-9  # so that a rate of 0.98, however rounded, is not above 0.98


@dataclass(frozen=True, slots=True)
class TrainingSeeds:
    """An agent's success over its training seeds; rates and intervals are 0 to 1."""

    seeds: tuple[int | None, ...]
    rates: FloatArray  # (seeds, tasks)
    mean: float
    mean_interval95: Interval | None  # None, as all of them, below five seeds
    iqm: float  # interquartile mean of `rates`
    iqm_interval95: Interval | None
    thresholds: FloatArray  # (thresholds,)
    profile: FloatArray  # (thresholds,): share of `rates` above the threshold
    profile_intervals95: tuple[FloatArray, FloatArray] | None  # (thresholds,) each, pointwise


def over_training_seeds(results: Sequence[Result], *, rng: np.random.Generator) -> TrainingSeeds:
    """Mean, interquartile mean and performance profile with bootstrap intervals.

    Draws seeds with replacement, then goals within each task. All seeds play the same
    goals, so a resample draws the same goals for each (Owen 2007, "The pigeonhole
    bootstrap"): goals of its own for each would hide that a hard goal is hard for all.
    IQM and profile: Agarwal et al. 2021, sections 4.2 and 4.3, over seeds × tasks.
    Raises UsageError for fewer than two runs or runs of different plans.
    """
    if len(results) < 2 or not same_plan(results):
        raise UsageError("training seeds are compared over two runs or more of one plan")
    success = paired_goal_success(results)
    rates = np.stack([each.mean(axis=1) for each in success.values()], axis=1)
    thresholds = np.linspace(0, 1, THRESHOLDS)
    found = TrainingSeeds(
        seeds=tuple(result.agent.training_seed for result in results),
        rates=rates,
        mean=float(rates.mean()),
        mean_interval95=None,
        iqm=float(iqm(rates[None])[0]),
        iqm_interval95=None,
        thresholds=thresholds,
        profile=np.array([(rates > each + TINY).mean() for each in thresholds]),
        profile_intervals95=None,
    )
    seeds = len(results)
    if seeds < LEAST_SEEDS:
        return found
    drawn = resampled(list(success.values()), rng=rng)
    profiles = np.stack([(drawn > each + TINY).mean(axis=(1, 2)) for each in thresholds], axis=1)
    return replace(
        found,
        mean_interval95=interval_of(drawn.mean(axis=(1, 2)), seeds),
        iqm_interval95=interval_of(iqm(drawn), seeds),
        profile_intervals95=_expanded(profiles, seeds),
    )


def compare_agents(
    agent: Sequence[Result], reference: Sequence[Result], *, seed: int
) -> Difference:
    """`agent` minus `reference`, in mean success, each of several training seeds.

    Draws the seeds of either, then the goals, which are the same for all; interval and p-value
    are of one distribution, so that they agree. The probability of improvement is over all pairs
    of a seed of one and a seed of the other, the mean over tasks (Agarwal et al. 2021, section
    4.3). No interval below five seeds of either. Raises UsageError for runs of different plans.
    """
    if not agent or not reference or not same_plan([*agent, *reference]):
        raise UsageError("agents are compared over training seeds on one plan")
    together = list(paired_goal_success([*agent, *reference]).values())
    split = len(agent)
    rates = np.stack([each.mean(axis=1) for each in together], axis=1)  # (seeds, tasks)
    one, other = rates[:split], rates[split:]
    fewest = min(len(one), len(other))
    interval: Interval | None = None
    p_value: float | None = None
    if fewest >= LEAST_SEEDS:
        drawn = resampled(together, rng=np.random.default_rng(seed), split=split)
        differences = drawn[:, :split].mean(axis=(1, 2)) - drawn[:, split:].mean(axis=(1, 2))
        interval, p_value = interval_of(differences, fewest), p_value_of(differences, fewest)
    return Difference(
        difference=float(one.mean() - other.mean()),
        interval95=interval,
        probability_of_improvement=float(
            np.mean([over_all_pairs(*pair) for pair in zip(one.T, other.T, strict=True)])
        ),
        p_value=p_value,
        p_holm=p_value,
        pairs=fewest,
        unlike=fewest if np.sort(one, axis=0).tolist() != np.sort(other, axis=0).tolist() else 0,
    )


def resampled(
    success: Sequence[FloatArray], *, rng: np.random.Generator, split: int = 0
) -> FloatArray:
    """Rates, shape (resamples, seeds, tasks), from success of shape (seeds, goals) a task.

    The first `split` seeds are drawn among themselves, and so are the others.
    """
    runs = success[0].shape[0]
    seeds = rng.integers(split, runs, size=(RESAMPLES, runs - split))
    if split:
        seeds = np.hstack([rng.integers(split, size=(RESAMPLES, split)), seeds])
    rates = np.empty((RESAMPLES, runs, len(success)))
    for task, each in enumerate(success):
        n = each.shape[1]
        alike, goals = np.unique(each, axis=1, return_counts=True)  # goals that went alike
        drawn = rng.multinomial(n, goals / n, size=RESAMPLES)
        rates[:, :, task] = np.take_along_axis(drawn @ alike.T / n, seeds, axis=1)
    return rates


def iqm(rates: FloatArray) -> FloatArray:
    """The mean of the middle half, shape (n,), of rates of shape (n, seeds, tasks)."""
    # Here, since importing scipy.stats takes a second.
    from scipy.stats import trim_mean

    return np.asarray(trim_mean(rates.reshape(len(rates), -1), 0.25, axis=1), np.float64)


def interval_of(values: FloatArray, seeds: int) -> Interval:
    """95 % confidence, from a statistic of every resample, shape (resamples,)."""
    low, high = _expanded(values, seeds)
    return float(low), float(high)


def _expanded(values: FloatArray, seeds: int) -> tuple[FloatArray, FloatArray]:
    """Ends of 95 % intervals over the first axis: percentiles, expanded for few seeds.

    Percentiles of n draws are too narrow by √((n-1)/n), and use a normal quantile where a t
    would be needed; expanded ones make up for both (Hesterberg 2015, The American
    Statistician 69:371).
    """
    # Here, since importing scipy takes a while and most commands need none of it.
    from scipy.special import ndtr, stdtrit

    below = ndtr(-math.sqrt(seeds / (seeds - 1)) * stdtrit(seeds - 1, 0.975))
    low, high = np.quantile(values, [below, 1 - below], axis=0)
    return low, high


def p_value_of(values: FloatArray, seeds: int) -> float:
    """Two-sided: the level at which the interval of `_expanded` meets 0."""
    from scipy.special import ndtri, stdtr

    half = np.count_nonzero(values == 0) / 2
    beyond = min(np.count_nonzero(values < 0) + half, np.count_nonzero(values > 0) + half)
    tail = max(beyond, 1) / len(values)  # of so many draws no less can be told
    return min(1.0, 2 * float(stdtr(seeds - 1, ndtri(tail) * math.sqrt((seeds - 1) / seeds))))
