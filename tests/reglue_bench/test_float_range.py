"""Arithmetic that stays within the range of float64."""

from __future__ import annotations

import math
import sys
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from reglue_bench.float_range import MOST, FloatArray, RunningMean, mean, scaled, share, unit_of
from reglue_bench.results.learning import mean_in_order, pointwise95
from reglue_bench.statistics import Inference, student

FINITE = st.floats(allow_nan=False, allow_infinity=False)
WIDE = FINITE | st.sampled_from([MOST, -MOST, 1.7e308, -1.7e308, 1e200, -1e200, 1e-320, 0.0])
"""Numbers of any size."""

POWERS = st.integers(-900, 900)
ORDINARY = st.lists(st.floats(-1e3, 1e3).map(lambda each: round(each, 6)), min_size=2, max_size=8)


def test_ordinary_numbers_are_in_no_other_unit() -> None:
    for most in (0.0, 1e-38, 1e-9, 1.0, 500.0, 1e30, 3e38):
        assert unit_of([0.0, -most]) == 1
    assert unit_of([]) == unit_of() == 1


@given(st.lists(WIDE, min_size=1))
def test_a_mean_lies_among_its_numbers(values: list[float]) -> None:
    running = RunningMean()
    for each in values:
        running.add(each)
    for found in (mean(values), running.value, mean_in_order(values)):
        room = 1e-9 * max(map(abs, values))
        assert min(values) - room <= found <= max(values) + room or math.isinf(room)
        assert math.isfinite(found)


@given(st.lists(WIDE, min_size=1, max_size=20))
def test_a_mean_is_the_exact_one_rounded(values: list[float]) -> None:
    exact = sum(map(Fraction, values), Fraction(0)) / len(values)
    assert math.isclose(Fraction(mean(values)), exact, rel_tol=4 * sys.float_info.epsilon) or (
        abs(exact) < sys.float_info.min * len(values)
    )


@given(ORDINARY, POWERS)
def test_an_interval_of_larger_numbers_is_the_same_times_as_large(
    values: list[float], power: int
) -> None:
    """To the bit, on both sides of where another unit begins."""
    array, by = np.array(values), math.ldexp(1.0, power)
    assume(not np.any((array != 0) & (np.abs(array) < 1e-6)))
    assert student({"": array * by}) == times(student({"": array}), by)
    lines = array[:, None]
    assert pointwise95(lines * by) == [(a * by, b * by) for a, b in pointwise95(lines)]
    assert mean_in_order(array * by) == mean_in_order(array) * by


def times(inference: Inference, by: float) -> Inference:
    if inference.interval95 is None:
        return inference
    low, high = inference.interval95
    return Inference((low * by, high * by), inference.p_value)


@given(st.lists(st.lists(WIDE, min_size=1, max_size=6), min_size=1, max_size=3))
def test_no_finite_returns_make_an_interval_that_is_not(strata: list[list[float]]) -> None:
    found = student({str(place): np.array(each) for place, each in enumerate(strata)})
    ends = found.interval95 or (0.0, 0.0)
    assert all(map(math.isfinite, ends))
    assert ends[0] <= ends[1]
    assert found.p_value is None or 0 <= found.p_value <= 1


@pytest.mark.parametrize("size", [1e200, 1e-200, 1e300, 5e-310])
def test_huge_and_tiny_returns_have_an_interval(size: float) -> None:
    interval = student({"": np.array([-size, size, size, size])}).interval95
    assert interval is not None
    low, high = (end / size for end in interval)
    assert (low, high) == pytest.approx((-1.091223152641854, 2.091223152641854))


def test_an_interval_ends_where_float64_does() -> None:
    assert student({"": np.array([-MOST, MOST])}).interval95 == (-MOST, MOST)


@given(WIDE, WIDE, WIDE)
def test_a_share_is_from_0_to_1(value: float, low: float, high: float) -> None:
    assert 0 <= share(value, min(low, high), max(low, high)) <= 1


def test_a_statistic_of_numbers_whose_sum_overflows() -> None:
    def middle(each: FloatArray) -> FloatArray:
        return np.asarray(each.mean())

    assert scaled(middle, [1.5e308, 1.7e308]) == pytest.approx(1.6e308)
