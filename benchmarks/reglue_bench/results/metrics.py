"""What a run of an agent that learns is worth, and how sure that is over runs.

A run's performance is the mean return of its measured episodes (or the mean reward of
its measured steps), an agent's the mean over runs: RL-Glue concepts 1.0, RL_benchmark.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from reglue.errors import UsageError
from reglue_bench.results.result import Interval

FloatArray: TypeAlias = npt.NDArray[np.float64]

BINS = 100
"""Points of a learning curve over steps."""


def measured(metric: str, quota: int) -> int:
    """How many episodes, or steps, at the end of a run count: all, or N of `final:N`.

    Raises UsageError for anything else, and where a run has not as many.
    """
    if metric == "all":
        return quota
    kind, _, number = metric.partition(":")
    if kind != "final" or not number.isdecimal() or int(number) < 1:
        raise UsageError(f"got --metric {metric}, wanted all, or final:N such as final:100")
    if int(number) > quota:
        raise UsageError(f"got --metric {metric}, but a run has {quota}: give final:{quota}")
    return int(number)


def mean_in_order(values: Sequence[float] | FloatArray) -> float:
    """Added one after another, as RL_benchmark adds, so that it equals that loop to the bit."""
    return float(np.add.accumulate(np.asarray(values, np.float64))[-1]) / len(values)


def t_interval95(values: Sequence[float] | FloatArray) -> Interval | None:
    """Student's 95 % interval of the mean (Student 1908, Biometrika 6:1); None below two."""
    if len(values) < 2:
        return None
    mean, half = (float(each[0]) for each in _mean_and_half(np.asarray(values)[:, None]))
    return mean - half, mean + half


def pointwise95(lines: FloatArray) -> list[Interval]:
    """Student's interval at each point of lines of shape (runs, points); none below two runs."""
    if len(lines) < 2:
        return []
    mean, half = _mean_and_half(lines)
    return list(zip((mean - half).tolist(), (mean + half).tolist(), strict=True))


def edges(steps: int) -> list[int]:
    """Where the bins of `steps` steps begin and end: at most 100, as even as can be."""
    bins = min(BINS, steps)
    return [steps * place // bins for place in range(bins + 1)]


def binned(rewards: FloatArray, steps: int) -> list[float]:
    """Mean reward of each bin that `rewards`, shape (steps so far,), has filled."""
    return [
        float(rewards[begin:end].mean())
        for begin, end in pairwise(edges(steps))
        if end <= len(rewards)
    ]


def _mean_and_half(lines: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Means over the first axis, and half the width of their intervals."""
    # Here, since importing scipy takes a while and most commands need none of it.
    from scipy.special import stdtrit

    runs = len(lines)
    quantile = float(stdtrit(runs - 1, 0.975))
    half = quantile * lines.std(axis=0, ddof=1) / np.sqrt(runs)
    return lines.mean(axis=0), half
