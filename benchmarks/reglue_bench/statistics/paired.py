"""What is said of a pair of results, whatever was paired, and corrected for all pairs."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import TypeVar

import numpy as np

from reglue.errors import UsageError
from reglue_bench.results.result import Interval
from reglue_bench.statistics.success import FloatArray


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """How far one result lies above another: positive, it is the better one."""

    difference: float  # of means; -1 to 1 of success rates, else in the task's units
    interval95: Interval | None  # of this pair alone; None: too few pairs, or all differ alike
    probability_of_improvement: float | None  # 0 to 1; 0.5 means neither; None: no runs to draw
    p_value: float | None  # two-sided, below 0.05 where the interval leaves 0 out; None with it
    p_holm: float | None  # corrected for all pairs; `p_value` where there is one pair
    pairs: int  # of goals, episodes or runs, that were compared
    unlike: int  # of these


DifferenceT = TypeVar("DifferenceT", bound=Difference)
_T = TypeVar("_T")


def over_pairs(
    results: Sequence[_T], compare: Callable[[_T, _T], DifferenceT]
) -> dict[tuple[int, int], DifferenceT]:
    """Every later one minus every earlier one, by their places; `p_holm` over all pairs.

    `compare` raises UsageError for a pair that cannot be compared, which is absent then.
    """
    found = {}
    for earlier, later in combinations(range(len(results)), 2):
        with contextlib.suppress(UsageError):
            found[later, earlier] = compare(results[later], results[earlier])
    tested = {pair: p for pair, each in found.items() if (p := each.p_value) is not None}
    corrected = dict(zip(tested, holm(list(tested.values())), strict=True))
    return {pair: replace(each, p_holm=corrected.get(pair)) for pair, each in found.items()}


def over_all_pairs(one: FloatArray, other: FloatArray) -> float:
    """P(X > Y) + P(X = Y)/2 over all pairs of a value of one and a value of the other.

    The probability of improvement of Agarwal et al. 2021, "Deep RL at the edge of the
    statistical precipice", section 4.3.
    """
    return float((np.sign(one[:, None] - other) + 1).mean() / 2)


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
