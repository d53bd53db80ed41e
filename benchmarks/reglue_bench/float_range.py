"""Arithmetic that stays within the range of float64, whatever finite numbers it gets.

Sums and squares of very large numbers overflow, and those of very small ones vanish. Such numbers
are divided by a power of two first, which is exact. Others are computed as they are.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Sequence
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

FloatArray: TypeAlias = npt.NDArray[np.float64]

MOST = sys.float_info.max
"""The largest number of float64. No return or interval lies beyond it, on either side."""

_PART = 2.0**64  # more numbers than anybody adds
_ORDINARY = 2.0**-128, 2.0**128  # whose fourth powers, which variances of variances are, fit


def unit_of(*arrays: FloatArray | Sequence[float]) -> float:
    """A power of two by which to divide these numbers: 1 unless they are very large or small."""
    most = max((float(np.abs(each).max()) for each in arrays if np.size(each)), default=0.0)
    if most == 0 or _ORDINARY[0] <= most <= _ORDINARY[1]:
        return 1.0
    return math.ldexp(1.0, max(math.frexp(most)[1] - 1, -1022))


def within(number: float) -> float:
    """The number, or the largest of its sign where it lies beyond the range."""
    return min(max(number, -MOST), MOST)


def times(unit: float, values: FloatArray) -> FloatArray:
    """The values in the unit that they were divided by, each `within` the range."""
    if unit == 1:
        return values
    with np.errstate(over="ignore"):
        return np.clip(values * unit, -MOST, MOST)


def scaled(
    statistic: Callable[[FloatArray], FloatArray], values: FloatArray | Sequence[float]
) -> FloatArray:
    """A statistic that is in the unit of `values`, such as a mean or a deviation."""
    array = np.asarray(values, np.float64)
    unit = unit_of(array)
    return statistic(array) if unit == 1 else times(unit, statistic(array / unit))


def mean(values: Sequence[float]) -> float:
    """The mean, exactly rounded, so that the order of values does not matter."""
    try:
        return math.fsum(values) / len(values)
    except OverflowError:  # of the sum
        unit = unit_of(values)
        middle = math.fsum(each / unit for each in values) / len(values)
        return within(middle * unit)


class RunningMean:
    """The mean of numbers that are not kept."""

    def __init__(self) -> None:
        self.count = 0
        self._sum = 0.0
        self._part = 0.0  # the sum / _PART, which does not overflow

    def add(self, number: float) -> None:
        """Add one."""
        self.count += 1
        self._sum += number
        self._part += number / _PART

    @property
    def value(self) -> float:
        """The sum / count; there are some."""
        if math.isfinite(self._sum):
            return self._sum / self.count
        return within(self._part / self.count * _PART)


def share(value: float, low: float, high: float) -> float:
    """The value's share of the way from `low`, 0, to `high`, 1; 0 if they are equal."""
    if not math.isfinite(high - low):
        value, low, high = value / 4, low / 4, high / 4
    return min(max((value - low) / ((high - low) or 1.0), 0.0), 1.0)
