"""Simulated coverage of every kind of interval that results and reports print.

Each draws many experiments from a population whose truth is known, and counts how often the
interval, made by the function that reports use, holds it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from types import MappingProxyType
from typing import TypeAlias

import numpy as np

from reglue_bench.float_range import FloatArray
from reglue_bench.measures.seed_statistics import (
    LEAST_SEEDS,
    interval_of,
    iqm,
    over_seeds,
    profiles,
    resampled,
)
from reglue_bench.results.learning import pointwise95, t_interval95
from reglue_bench.statistics import Inference, Interval, of_success, over_tasks, student, wilson

Draw: TypeAlias = Callable[[int, np.random.Generator], tuple[Interval | None, float]]
"""One experiment of n goals, runs or seeds: its interval and the truth."""

Statistic: TypeAlias = Callable[[FloatArray], FloatArray]
"""A statistic of rates of shape (n, seeds, tasks), shape (n, 1)."""

TASKS = 10
_SUCCESS = (0.3, 0.99)  # of tasks, goals and agents, evenly between these
_ROUNDING = 1e-9


def coverage(draw: Draw, n: int, *, trials: int, seed: int) -> float | None:
    """The share of intervals that hold the truth; None if so few values have no interval."""
    rng = np.random.default_rng([seed, n])
    held = 0
    for _ in range(trials):
        interval, truth = draw(n, rng)
        if interval is None:
            return None
        held += interval[0] - _ROUNDING <= truth <= interval[1] + _ROUNDING
    return held / trials


def _rate(rng: np.random.Generator) -> float:
    return float(rng.uniform(*_SUCCESS))


def _task_success(n: int, rng: np.random.Generator) -> tuple[Interval, float]:
    rate = _rate(rng)
    return wilson(float(rng.binomial(n, rate)), n), rate


def _mean_success(n: int, rng: np.random.Generator) -> tuple[Interval, float]:
    rates = rng.uniform(*_SUCCESS, TASKS)
    return over_tasks(rng.binomial(n, rates).tolist(), [n] * TASKS), float(rates.mean())


def _paired_success(tasks: int) -> Draw:
    """Two agents on the same goals, of which some are hard for both."""

    def draw(n: int, rng: np.random.Generator) -> tuple[Interval | None, float]:
        rates = rng.uniform(*_SUCCESS, (2, tasks, 1))
        goals = rng.random((tasks, n))  # how hard each is, for either
        alike = rng.random((2, tasks, n)) < 0.6
        hard = np.where(alike, goals, rng.random((2, tasks, n)))
        one, other = (hard < rates).astype(np.float64)
        inference = of_success({str(task): one[task] - other[task] for task in range(tasks)})
        return inference.interval95, float((rates[0] - rates[1]).mean())

    return draw


def _normal(n: int, rng: np.random.Generator) -> FloatArray:
    return rng.normal(0.0, 3.0, n)


def _skewed(n: int, rng: np.random.Generator) -> FloatArray:
    """An exponential less its mean, such as returns with a bound that most runs come near."""
    return rng.exponential(3.0, n) - 3.0


def _performance(values: Callable[[int, np.random.Generator], FloatArray]) -> Draw:
    return lambda n, rng: (t_interval95(values(n, rng)), 0.0)


def _curve_point(n: int, rng: np.random.Generator) -> tuple[Interval, float]:
    return pointwise95(rng.normal(0.0, 3.0, (n, 5)))[2], 0.0


def _paired_runs(n: int, rng: np.random.Generator) -> tuple[Interval | None, float]:
    """Run k of both agents begins with one seed, which affects both."""
    shared = rng.normal(0, 2, n)
    one, other = shared + rng.normal(1, 1, n), shared + rng.normal(0, 3, n)
    return student({"": one - other}).interval95, 1.0


def _returns(n: int, rng: np.random.Generator) -> tuple[Interval | None, float]:
    """Tasks whose returns vary unlike."""
    strata = {str(task): rng.normal(task, 1 + task, n) for task in range(TASKS)}
    inference: Inference = student(strata)
    return inference.interval95, (TASKS - 1) / 2


_GOALS = 20
_PROFILE_AT = np.array([0.65])
_RESAMPLES = 2_000  # reports draw 10,000; so the simulation takes minutes


def _seed_success(n: int, rng: np.random.Generator, goals: FloatArray) -> list[FloatArray]:
    """Success of n training seeds on goals of 3 tasks, some harder, by how well each learned."""
    skill = rng.normal(0.0, 0.15, n)
    return [
        (rng.random((n, _GOALS)) < np.clip(0.65 + skill[:, None] + hard, 0, 1)).astype(np.float64)
        for hard in goals
    ]


def _hardness(rng: np.random.Generator) -> FloatArray:
    return rng.normal(0.0, 0.05, (3, _GOALS))


def _mean(rates: FloatArray) -> FloatArray:
    return np.asarray(rates.mean(axis=(1, 2)), np.float64)[:, None]


def _middle(rates: FloatArray) -> FloatArray:
    return iqm(rates)[:, None]


def _above(rates: FloatArray) -> FloatArray:
    return profiles(rates, _PROFILE_AT)


@cache
def _truth(statistic: Statistic) -> float:
    """The truth, from very many seeds, each on its own goals."""
    rng = np.random.default_rng(1)
    rates = np.concatenate(
        [
            np.stack([each.mean(axis=1) for each in _seed_success(4, rng, _hardness(rng))], axis=1)
            for _ in range(20_000)
        ]
    )
    return float(statistic(rates[None])[0, 0])


def _mean_over_seeds(n: int, rng: np.random.Generator) -> tuple[Interval | None, float]:
    success = _seed_success(n, rng, _hardness(rng))
    return over_seeds([success], lowest=0).interval95, _truth(_mean)


def _over_seeds(statistic: Statistic) -> Draw:
    def draw(n: int, rng: np.random.Generator) -> tuple[Interval | None, float]:
        if n < LEAST_SEEDS:
            return None, 0.0
        success = _seed_success(n, rng, _hardness(rng))
        bootstrap = resampled(success, rng=rng, resamples=_RESAMPLES)
        low, high = interval_of(statistic, success, bootstrap)
        return (float(low[0]), float(high[0])), _truth(statistic)

    return draw


def _agents(n: int, rng: np.random.Generator) -> tuple[Interval | None, float]:
    """Two agents that are as good as each other, on the same goals."""
    goals = _hardness(rng)
    return over_seeds([_seed_success(n, rng, goals) for _ in range(2)], lowest=-1).interval95, 0.0


CHEAP: Mapping[str, Draw] = MappingProxyType(
    {
        "success of a task, over its goals": _task_success,
        f"success over {TASKS} tasks, of so many goals each": _mean_success,
        "difference of success, one task": _paired_success(1),
        f"difference of success, {TASKS} tasks": _paired_success(TASKS),
        "performance online, runs as a normal": _performance(_normal),
        "performance online, runs very skewed (exponential)": _performance(_skewed),
        "a point of a learning curve, runs as a normal": _curve_point,
        "difference of performance online, runs as a normal": _paired_runs,
        f"mean return of {TASKS} tasks, episodes as a normal": _returns,
        "mean success over training seeds": _mean_over_seeds,
        "difference of agents over training seeds": _agents,
    }
)
DEAR: Mapping[str, Draw] = MappingProxyType(
    {
        "interquartile mean over training seeds": _over_seeds(_middle),
        "performance profile at 65 %": _over_seeds(_above),
    }
)
SIZES = (3, 5, 10, 30)
