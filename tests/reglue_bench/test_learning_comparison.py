"""Which of two agents does better while it learns."""

from __future__ import annotations

import pytest
from scipy import stats

from reglue.errors import UsageError
from reglue_bench.learning_comparison import compare_all_learning, compare_learning
from reglue_bench.result import Result
from tests.reglue_bench.learning_results import Learned, learned
from tests.reglue_bench.results import make_result


def performances(result: Result) -> list[float]:
    assert result.online is not None
    return [run.performance for run in result.online.completed if run.performance is not None]


def test_the_interval_and_p_value_are_welchs() -> None:
    ours, theirs = learned(), learned(Learned(runs=7, best=-118.0, noise=30.0, seed=1))
    found = compare_learning(ours, theirs)
    wanted = stats.ttest_ind(performances(ours), performances(theirs), equal_var=False)
    bounds = wanted.confidence_interval()
    assert found.interval95 == pytest.approx((bounds.low, bounds.high))
    assert found.p_value == pytest.approx(wanted.pvalue)


def test_the_probability_of_improvement_is_over_all_pairs_of_runs() -> None:
    ours, theirs = learned(), learned(Learned(runs=7, noise=30.0, seed=1))
    pairs = [(a, b) for a in performances(ours) for b in performances(theirs)]
    share = sum((a > b) + (a == b) / 2 for a, b in pairs) / len(pairs)
    assert compare_learning(ours, theirs).probability_of_improvement == pytest.approx(share)


def test_an_agent_is_as_good_as_itself() -> None:
    found = compare_learning(learned(), learned())
    assert (found.difference, found.probability_of_improvement) == (0.0, 0.5)
    assert found.p_value == pytest.approx(1.0)


def test_runs_that_were_lost_are_left_out() -> None:
    found = compare_learning(learned(Learned(lost=(0, 3))), learned(Learned(seed=1)))
    whole = performances(learned(Learned(lost=(0, 3))))
    assert len(whole) == 8
    others = performances(learned(Learned(seed=1)))
    assert found.difference == pytest.approx(sum(whole) / 8 - sum(others) / 10)


@pytest.mark.parametrize(
    "other",
    [
        Learned(episodes=50),
        Learned(measure="final:10"),
        Learned(steps=60),
        Learned(config={"horizon": 7}),
        Learned(missing=10),
    ],
)
def test_what_does_not_measure_the_same_is_not_compared(other: Learned) -> None:
    with pytest.raises(UsageError):
        compare_learning(learned(other), learned())


def test_another_number_of_runs_is_compared() -> None:
    assert compare_learning(learned(Learned(runs=4)), learned()).interval95 is not None


def test_a_single_run_has_a_difference_and_no_interval() -> None:
    found = compare_learning(learned(Learned(runs=1)), learned())
    assert (found.interval95, found.p_value) == (None, None)


def test_runs_without_spread_have_no_interval() -> None:
    found = compare_learning(learned(Learned(noise=0)), learned(Learned(noise=0, best=-90.0)))
    assert found.interval95 is None
    assert found.probability_of_improvement == 0.0


def test_p_values_are_corrected_for_all_pairs() -> None:
    results = [learned(Learned(seed=seed)) for seed in range(3)]
    found = compare_all_learning(results)
    assert set(found) == {(1, 0), (2, 0), (2, 1)}
    for each in found.values():
        assert each.p_holm is not None
        assert each.p_value is not None
        assert each.p_holm >= each.p_value


def test_a_pair_that_cannot_be_compared_is_absent() -> None:
    found = compare_all_learning([learned(), learned(Learned(episodes=50)), learned()])
    assert set(found) == {(2, 0)}


def test_a_benchmark_that_judges_is_not_compared_by_learning() -> None:
    with pytest.raises(UsageError, match="not an online benchmark"):
        compare_learning(make_result(), learned())
