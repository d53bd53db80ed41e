"""Several training seeds of one agent."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import trim_mean

from reglue.errors import UsageError
from reglue_bench.float_range import FloatArray
from reglue_bench.measures.seed_statistics import (
    TrainingSeeds,
    compare_agents,
    interval_of,
    iqm,
    over_seeds,
    over_training_seeds,
    resampled,
)
from reglue_bench.results.result import Result
from tests.error_facts import raises
from tests.reglue_bench.made_results import Play, make_result


def runs(*rates: float) -> list[Result]:
    return [make_result(Play(rate=rate, training_seed=seed)) for seed, rate in enumerate(rates)]


def summary(*rates: float) -> TrainingSeeds:
    return over_training_seeds(runs(*rates), rng=np.random.default_rng(0))


def test_the_mean_is_over_seeds_and_tasks() -> None:
    means = [run.mean_success_rate for run in runs(0.6, 0.8, 0.7)]
    assert summary(0.6, 0.8, 0.7).mean == pytest.approx(np.mean(means))
    assert summary(0.6, 0.8, 0.7).rates.shape == (3, 10)


def test_seeds_that_differ_make_the_interval_wider_than_one_checkpoints() -> None:
    found = summary(0.4, 0.9, 0.7, 0.8, 0.6).mean_interval95
    assert found is not None
    low, high = found
    of_one = runs(0.4, 0.9, 0.7)[2].interval95
    assert of_one is not None
    one_low, one_high = of_one
    assert high - low > one_high - one_low


def test_the_iqm_leaves_out_the_best_and_the_worst_quarter() -> None:
    found = summary(0.5, 0.9)
    middle = np.sort(found.rates.ravel())[5:15]
    assert found.iqm == pytest.approx(middle.mean())


@pytest.mark.parametrize("seeds", [1, 2, 5, 10])
def test_the_iqm_has_the_bits_of_scipys(seeds: int) -> None:
    rates = np.random.default_rng(0).integers(0, 51, (50, seeds, 3)) / 50
    scipys = trim_mean(rates.reshape(len(rates), -1), 0.25, axis=1)
    assert iqm(rates).tobytes() == scipys.tobytes()


def test_the_iqm_lies_in_its_interval() -> None:
    found = summary(0.5, 0.6, 0.7, 0.8, 0.9)
    assert found.iqm_interval95 is not None
    assert found.iqm_interval95[0] < found.iqm < found.iqm_interval95[1]


def test_the_profile_falls_from_all_to_none() -> None:
    found = summary(0.5, 0.6, 0.7, 0.8, 0.9)
    assert found.profile[0] == 1
    assert found.profile[-1] == 0
    assert (np.diff(found.profile) <= 0).all()
    assert found.profile_intervals95 is not None
    low, high = found.profile_intervals95
    assert (low <= high).all()


def test_below_five_seeds_there_are_no_intervals() -> None:
    found = summary(0.5, 0.6, 0.7, 0.8)
    assert (found.mean_interval95, found.iqm_interval95, found.profile_intervals95) == (None,) * 3


def test_without_spread_there_are_no_intervals() -> None:
    found = summary(2, 2, 2, 2, 2)  # every goal is won
    assert (found.mean_interval95, found.iqm_interval95, found.profile_intervals95) == (None,) * 3


def test_below_five_goals_a_task_the_mean_alone_has_an_interval() -> None:
    played = [
        make_result(Play(rate=rate, training_seed=seed, goals=4))
        for seed, rate in enumerate((0.4, 0.9, 0.7, 0.8, 0.6))
    ]
    found = over_training_seeds(played, rng=np.random.default_rng(0))
    assert found.mean_interval95 is not None
    assert (found.iqm_interval95, found.profile_intervals95) == (None, None)


def test_seeds_that_differ_as_by_chance_are_as_one_sample() -> None:
    """Equally good seeds on equally hard goals: the mean of so many coins, and no wider."""
    rng = np.random.default_rng(0)
    halves = []
    for _ in range(100):
        found = over_seeds([[(rng.random((30, 40)) < 0.5).astype(np.float64)]], lowest=0).interval95
        assert found is not None
        halves.append((found[1] - found[0]) / 2)
    assert np.mean(halves) == pytest.approx(1.96 * 0.5 / 30**0.5 / 40**0.5, rel=0.25)


def test_the_bootstraps_interval_of_the_mean_is_students() -> None:
    """So its spread is neither that of too few nor that of too many draws."""
    rng = np.random.default_rng(0)
    success = [(rng.random((10, 40)) < 0.5).astype(np.float64) for _ in range(2)]
    low, high = interval_of(
        lambda rates: np.asarray(rates.mean(axis=(1, 2)), np.float64)[:, None],
        success,
        resampled(success, rng=rng),
    )
    assert (low[0], high[0]) == pytest.approx(over_seeds([success], lowest=0).interval95, abs=0.005)


def test_goals_that_are_hard_for_all_seeds_widen_the_interval() -> None:
    """Of two goals as many are won, by all seeds alike or by each its own."""
    hard = np.tile([1.0, 0.0, 1.0, 0.0], (6, 1))
    hard[0, 0] = 0  # so that seeds vary
    alike, own = over_seeds([[hard]], lowest=0), over_seeds([[_rolled(hard)]], lowest=0)
    assert alike.interval95 is not None
    assert own.interval95 is not None
    assert np.diff(alike.interval95) > np.diff(own.interval95)


def _rolled(success: FloatArray) -> FloatArray:
    return np.stack([np.roll(row, place) for place, row in enumerate(success)])


def test_what_a_goal_adds_to_both_agents_cancels() -> None:
    rng = np.random.default_rng(0)
    goals, one, other = rng.normal(0, 10, 20), rng.random((5, 20)), rng.random((5, 20))
    bare = over_seeds([[one], [other]], lowest=-1)
    assert over_seeds([[one + goals], [other + goals]], lowest=-1).p_value == pytest.approx(
        bare.p_value
    )


def agents(*rates: float, label: str) -> list[Result]:
    return [
        make_result(Play(rate=rate, training_seed=seed, label=label))
        for seed, rate in enumerate(rates)
    ]


def test_agents_are_compared_over_their_training_seeds() -> None:
    better, worse = agents(*[0.9] * 5, label="a"), agents(*[0.6] * 5, label="b")
    found = compare_agents(better, worse)
    assert found.difference == pytest.approx(0.3, abs=0.05)
    assert found.interval95 is not None
    assert found.p_value is not None
    assert found.interval95[0] > 0
    assert found.p_value < 0.05
    assert found.probability_of_improvement is not None
    assert found.probability_of_improvement > 0.9


def test_agents_whose_seeds_overlap_are_not_told_apart() -> None:
    one, other = agents(0.9, 0.4, 0.6, 0.8, 0.7, label="a"), agents(*[0.6] * 5, label="b")
    found = compare_agents(one, other)
    assert found.interval95 is not None
    assert found.p_value is not None
    assert found.interval95[0] < 0 < found.interval95[1]
    assert found.p_value > 0.05


def test_agents_of_few_seeds_have_a_difference_without_an_interval() -> None:
    found = compare_agents(agents(0.9, 0.9, label="a"), agents(*[0.6] * 9, label="b"))
    assert (found.interval95, found.p_value, found.pairs) == (None, None, 2)


def test_a_rate_is_not_above_itself() -> None:
    perfect = summary(2, 2, 2, 2, 2)  # every goal is won
    assert perfect.profile[-2:].tolist() == [1, 0]


def test_one_training_seed_says_nothing_about_seeds() -> None:
    with raises(UsageError, "training seeds"):
        summary(0.9)
