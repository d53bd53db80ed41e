"""Several training seeds of one agent."""

from __future__ import annotations

import numpy as np
import pytest

from reglue.errors import UsageError
from reglue_bench.result import Result
from reglue_bench.training_seeds import TrainingSeeds, over_training_seeds
from tests.reglue_bench.results import Play, make_result


def runs(*rates: float) -> list[Result]:
    return [make_result(Play(rate=rate, training_seed=seed)) for seed, rate in enumerate(rates)]


def summary(*rates: float) -> TrainingSeeds:
    return over_training_seeds(runs(*rates), rng=np.random.default_rng(0))


def test_the_mean_is_over_seeds_and_tasks() -> None:
    means = [run.success.rate for run in runs(0.6, 0.8, 0.7)]
    assert summary(0.6, 0.8, 0.7).mean == pytest.approx(np.mean(means))
    assert summary(0.6, 0.8, 0.7).rates.shape == (3, 10)


def test_seeds_that_differ_make_the_interval_wider_than_one_checkpoints() -> None:
    low, high = summary(0.4, 0.9, 0.7).mean_interval95
    one_low, one_high = runs(0.4, 0.9, 0.7)[2].success.intervals95.mean_success_rate
    assert high - low > one_high - one_low


def test_the_iqm_leaves_out_the_best_and_the_worst_quarter() -> None:
    found = summary(0.5, 0.9)
    middle = np.sort(found.rates.ravel())[5:15]
    assert found.iqm == pytest.approx(middle.mean())
    assert found.iqm_interval95[0] < found.iqm < found.iqm_interval95[1]


def test_the_profile_falls_from_all_to_none() -> None:
    found = summary(0.5, 0.9)
    assert found.profile[0] == 1
    assert found.profile[-1] == 0
    assert (np.diff(found.profile) <= 0).all()
    assert (found.profile_low <= found.profile_high).all()


def test_a_rate_is_not_above_itself() -> None:
    perfect = summary(2, 2)  # every goal is won
    assert perfect.profile[-2:].tolist() == perfect.profile_low[-2:].tolist() == [1, 0]


def test_one_training_seed_says_nothing_about_seeds() -> None:
    with pytest.raises(UsageError, match="two runs or more"):
        summary(0.9)
