"""What a run is worth, and how sure the mean over runs is."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reglue.errors import UsageError
from reglue_bench.results.metrics import (
    binned,
    edges,
    mean_in_order,
    measured,
    pointwise95,
    t_interval95,
)


def test_all_measures_the_whole_run_and_final_its_end() -> None:
    assert measured("all", 200) == 200
    assert measured("final:100", 200) == 100
    assert measured("final:200", 200) == 200


@pytest.mark.parametrize("metric", ["final", "final:", "final:0", "final:-1", "final:x", "last:3"])
def test_another_measure_is_refused(metric: str) -> None:
    with pytest.raises(UsageError, match="wanted all, or final:N"):
        measured(metric, 200)


def test_more_than_a_run_has_cannot_be_measured() -> None:
    with pytest.raises(UsageError, match="a run has 99: give final:99"):
        measured("final:100", 99)


def test_a_mean_is_added_in_the_order_of_play() -> None:
    """As `sum = sum + RL_return(1.0)` adds: not compensated, not in pairs."""
    values = [1.0, 1e16, 1.0, -1e16] * 50
    total = 0.0
    for value in values:
        total += value
    assert mean_in_order(values) == total / 200
    assert total != math.fsum(values)


def test_the_interval_is_students() -> None:
    """Of four values, whose t is 3.182446 (0.975, 3 degrees of freedom)."""
    low, high = t_interval95([1.0, 2.0, 3.0, 4.0]) or (0.0, 0.0)
    half = 3.182446 * math.sqrt(5 / 3) / 2
    assert (low, high) == pytest.approx((2.5 - half, 2.5 + half), abs=1e-6)


def test_a_single_run_has_no_interval() -> None:
    assert t_interval95([3.0]) is None
    assert pointwise95(np.ones((1, 4))) == []


def test_runs_that_agree_have_an_interval_without_width() -> None:
    assert t_interval95([2.0, 2.0]) == (2.0, 2.0)


def test_each_point_of_a_curve_has_its_own_interval() -> None:
    lines = np.array([[1.0, 5.0], [2.0, 5.0], [4.0, 5.0]])
    first, second = pointwise95(lines)
    assert first == pytest.approx(t_interval95(lines[:, 0]))
    assert second == (5.0, 5.0)


def test_the_interval_covers_the_mean_as_often_as_it_says() -> None:
    rng = np.random.default_rng(0)
    lines = rng.normal(3.0, 2.0, size=(8, 4000))
    covered = [low <= 3.0 <= high for low, high in pointwise95(lines)]
    assert 0.94 < float(np.mean(covered)) < 0.96


@given(st.integers(1, 5000))
def test_bins_cover_every_step_once_and_as_evenly_as_can_be(steps: int) -> None:
    ends = edges(steps)
    widths = np.diff(ends)
    assert (ends[0], ends[-1]) == (0, steps)
    assert len(widths) == min(100, steps)
    assert widths.max() - widths.min() <= 1


def test_a_bin_is_the_mean_of_its_rewards() -> None:
    rewards = np.arange(300.0)
    assert binned(rewards, 300)[:2] == [1.0, 4.0]


def test_a_bin_that_is_not_full_is_not_told() -> None:
    assert len(binned(np.ones(150), 300)) == 50
    assert len(binned(np.ones(149), 300)) == 49
    assert binned(np.ones(0), 300) == []
