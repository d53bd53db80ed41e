"""Intervals of one checkpoint."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reglue.errors import UsageError
from reglue_bench.statistics import (
    METHOD,
    intervals95,
    over_tasks,
    return_intervals95,
    wilson,
)


@pytest.mark.parametrize("goals", [1, 3, 50, 2000])
@pytest.mark.parametrize("rate", [0.0, 1 / 3, 0.5, 0.98, 1.0])
def test_wilson_is_that_of_statsmodels(rate: float, goals: int) -> None:
    from statsmodels.stats.proportion import proportion_confint

    reference = proportion_confint(rate * goals, goals, alpha=0.05, method="wilson")
    assert wilson(rate * goals, goals) == pytest.approx(reference, abs=1e-12)


def test_wilson_takes_a_goal_won_in_two_of_three_episodes() -> None:
    assert wilson(1, 3)[0] < wilson(1 + 2 / 3, 3)[0] < wilson(2, 3)[0]


@pytest.mark.parametrize("goals", range(1, 60))
def test_wilson_ends_at_a_rate_of_zero_or_one(goals: int) -> None:
    """A plot takes the distances of both ends from the rate, and refuses a negative one."""
    assert wilson(0, goals)[0] == 0
    assert wilson(goals, goals)[1] == 1


def test_over_one_task_it_is_that_tasks_wilson_interval() -> None:
    assert over_tasks([49], [50]) == pytest.approx(wilson(49, 50))


def test_over_tasks_it_is_price_and_bonetts() -> None:
    """Two wins and two losses more, shared among four tasks: by hand."""
    rate = 40.5 / 51
    reach = 1.959964 * (rate * (1 - rate) / 51 / 4) ** 0.5
    assert over_tasks([40] * 4, [50] * 4) == pytest.approx((rate - reach, rate + reach))


def test_tasks_of_few_goals_are_judged_as_one() -> None:
    assert over_tasks([1] * 50, [1] * 50) == pytest.approx(wilson(50, 50))
    assert over_tasks([1, 2], [1, 3]) == pytest.approx(wilson(5 / 6 * 3, 3))


def test_intervals_name_their_method_and_every_task() -> None:
    intervals = intervals95({"reach-v3": [1, 0, 1], "push-v3": [0.5, 0]})
    assert intervals.method == METHOD
    assert list(intervals.per_task) == ["reach-v3", "push-v3"]
    assert intervals.per_task["push-v3"] == pytest.approx(wilson(0.5, 2))


@pytest.mark.parametrize("broken", [{}, {"reach-v3": []}, {"reach-v3": [3.0]}])
def test_an_interval_of_nothing_or_of_counts_is_refused(broken: dict[str, list[float]]) -> None:
    with pytest.raises(UsageError):
        intervals95(broken)


@given(st.lists(st.floats(-3, 50), min_size=2, max_size=9), st.floats(-60, 60), st.floats(-60, -3))
def test_an_interval_that_is_cut_at_a_bound_holds_the_truth_as_often(
    returns: list[float], truth: float, bound: float
) -> None:
    """For every sample, as the truth is not below the bound."""
    truth = max(truth, bound)
    values = {"": np.array(returns)}
    whole, cut = (return_intervals95(values, lowest=each).mean for each in (None, bound))
    assert (whole is None) == (cut is None)
    if whole is not None and cut is not None:
        assert (cut[0] <= truth <= cut[1]) == (whole[0] <= truth <= whole[1])
        assert cut == (max(bound, whole[0]), whole[1])


def test_a_bound_above_a_return_is_none() -> None:
    values = {"": np.array([9.0, 14.0, 31.0])}
    for lowest in (None, 9.5):
        mean = return_intervals95(values, lowest=lowest).mean
        assert mean == pytest.approx((-10.6485, 46.6485), abs=1e-4)
    found = return_intervals95(values, lowest=1)
    assert found.mean == found.per_task[""] == pytest.approx((1.0, 46.6485), abs=1e-4)


def test_the_goals_interval_covers_where_bootstrapping_episodes_does_not() -> None:
    """Three episodes of a goal mostly end alike; to count them as independent is too sure."""
    rng = np.random.default_rng(7)
    trials, tasks, goals = 300, 4, 15
    chance = rng.beta(0.6, 0.2, size=(trials, tasks, goals))  # mean 0.75, mostly 0 or 1
    won = rng.random((trials, tasks, goals, 3)) < chance[..., None]
    ours = [
        intervals95({str(t): each[t].mean(-1).tolist() for t in range(tasks)}).mean for each in won
    ]
    naive = [_bootstrap_of_episodes(each.reshape(tasks, -1), rng=rng) for each in won]
    assert _coverage(ours, truth=0.75) >= 0.9
    assert _coverage(naive, truth=0.75) < 0.85


def _bootstrap_of_episodes(
    won: np.ndarray[tuple[int, int], np.dtype[np.bool_]], *, rng: np.random.Generator
) -> tuple[float, float]:
    n = won.shape[1]
    means = rng.binomial(n, won.mean(axis=1), size=(1000, len(won))).mean(axis=1) / n
    low, high = np.quantile(means, [0.025, 0.975])
    return float(low), float(high)


def _coverage(intervals: Sequence[tuple[float, float] | None], *, truth: float) -> float:
    return float(np.mean([each is not None and each[0] <= truth <= each[1] for each in intervals]))
