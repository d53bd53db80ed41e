"""Several runs of one agent that differ in their training seed alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from reglue.errors import UsageError
from reglue_bench.result import Interval, Result
from reglue_bench.statistics import FloatArray, paired_goal_success, same_plan

RESAMPLES = 10_000
THRESHOLDS = 51
TINY = 1e-9  # so that a rate of 0.98, however rounded, is not above 0.98


@dataclass(frozen=True, slots=True)
class TrainingSeeds:
    """An agent's success over its training seeds; rates and intervals are 0 to 1."""

    seeds: tuple[int | None, ...]
    rates: FloatArray  # (seeds, tasks)
    mean: float
    mean_interval95: Interval
    iqm: float  # interquartile mean of `rates`
    iqm_interval95: Interval
    thresholds: FloatArray  # (thresholds,)
    profile: FloatArray  # (thresholds,): share of `rates` above the threshold
    profile_low: FloatArray  # (thresholds,), pointwise 95 %
    profile_high: FloatArray  # (thresholds,)


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
    drawn = _resample(list(success.values()), rng=rng)
    thresholds = np.linspace(0, 1, THRESHOLDS)
    profiles = np.stack([(drawn > each + TINY).mean(axis=(1, 2)) for each in thresholds], axis=1)
    return TrainingSeeds(
        seeds=tuple(result.agent.training_seed for result in results),
        rates=rates,
        mean=float(rates.mean()),
        mean_interval95=_interval(drawn.mean(axis=(1, 2))),
        iqm=float(_iqm(rates[None])[0]),
        iqm_interval95=_interval(_iqm(drawn)),
        thresholds=thresholds,
        profile=np.array([(rates > each + TINY).mean() for each in thresholds]),
        profile_low=np.quantile(profiles, 0.025, axis=0),
        profile_high=np.quantile(profiles, 0.975, axis=0),
    )


def _resample(success: Sequence[FloatArray], *, rng: np.random.Generator) -> FloatArray:
    """Rates, shape (resamples, seeds, tasks), from success of shape (seeds, goals) a task."""
    runs = success[0].shape[0]
    seeds = rng.integers(runs, size=(RESAMPLES, runs))
    rates = np.empty((RESAMPLES, runs, len(success)))
    for task, each in enumerate(success):
        n = each.shape[1]
        alike, goals = np.unique(each, axis=1, return_counts=True)  # goals that went alike
        drawn = rng.multinomial(n, goals / n, size=RESAMPLES)
        rates[:, :, task] = np.take_along_axis(drawn @ alike.T / n, seeds, axis=1)
    return rates


def _iqm(rates: FloatArray) -> FloatArray:
    """The mean of the middle half, shape (n,), of rates of shape (n, seeds, tasks)."""
    # Here, since importing scipy.stats takes a second.
    from scipy.stats import trim_mean

    return np.asarray(trim_mean(rates.reshape(len(rates), -1), 0.25, axis=1), np.float64)


def _interval(values: FloatArray) -> Interval:
    low, high = np.quantile(values, [0.025, 0.975])
    return float(low), float(high)
