"""Which of two agents does better while it learns."""

from __future__ import annotations

import pytest
from scipy import stats

from reglue.errors import UsageError
from reglue_bench.measures.compare import Difference, compare, compare_all, holm
from reglue_bench.results.result import Result
from reglue_bench.results.scores import PerformanceScore
from tests.error_facts import raises
from tests.reglue_bench.learning_results import Learned, learned
from tests.reglue_bench.made_results import make_result


def compared(one: Learned, other: Learned) -> Difference:
    return compare(learned(one), learned(other))


def performances(result: Result) -> dict[int, float]:
    return {
        r.run: r.performance
        for r in result.score_as(PerformanceScore).completed
        if r.performance is not None
    }


def test_runs_are_paired_by_their_numbers() -> None:
    ours, theirs = learned(Learned()), learned(Learned(seed=1, runs=8))
    found = compare(ours, theirs)
    one, other = performances(ours), performances(theirs)
    both = range(8)
    assert found.pairs == len(both)
    assert found.difference == pytest.approx(sum(one[k] - other[k] for k in both) / len(both))


def test_what_all_runs_share_drops_out() -> None:
    """The same noise in both: only the pairing can see that one is better by 2 in each run."""
    one = Learned(best=-118.0, worst=-898.0, noise=100.0)
    found = compared(one, Learned(noise=100.0))
    assert found.difference == pytest.approx(2.0)
    assert (found.interval95, found.p_value) == (None, None)  # nothing varies


def test_the_probability_of_improvement_is_over_all_pairs_of_runs() -> None:
    one, other = Learned(), Learned(noise=30.0, seed=1)
    ours, theirs = performances(learned(one)).values(), performances(learned(other)).values()
    pairs = [(a, b) for a in ours for b in theirs]
    share = sum((a > b) + (a == b) / 2 for a, b in pairs) / len(pairs)
    assert compared(one, other).probability_of_improvement == pytest.approx(share)


def test_an_agent_is_as_good_as_itself() -> None:
    found = compared(Learned(), Learned())
    assert (found.difference, found.interval95, found.p_value) == (0.0, None, None)
    assert found.probability_of_improvement == 0.5
    assert (found.pairs, found.unlike) == (10, 0)


def test_agents_that_are_alike_differ_alike_from_a_third() -> None:
    twin, third = learned(Learned(runs=20, seed=1)), learned(Learned(runs=20, noise=60.0))
    found = compare_all([third, twin, twin])
    assert found[1, 0].interval95 == found[2, 0].interval95
    assert found[1, 0].p_value == found[2, 0].p_value


@pytest.mark.parametrize(
    "other",
    [
        Learned(episodes=50),
        Learned(metric="final:10"),
        Learned(steps=60),
        Learned(config={"horizon": 7}),
        Learned(missing=1),
        Learned(lost=(1,)),
        Learned(lost=(1,), fault=-60_000.0),
    ],
)
def test_what_does_not_measure_the_same_is_not_compared(other: Learned) -> None:
    with pytest.raises(UsageError):
        compared(other, Learned())


def test_a_run_that_the_agents_fault_ended_is_compared_as_what_it_is_worth() -> None:
    found = compared(Learned(lost=(1,), fault=-60_000.0), Learned(fault=-60_000.0))
    assert found.pairs == 10
    assert found.difference < -5_000


@pytest.mark.parametrize("runs", [1, 2, 30])
def test_an_interval_takes_two_runs_of_both(runs: int) -> None:
    found = compared(Learned(runs=runs), Learned(runs=runs, seed=1))
    assert found.pairs == runs
    assert (found.interval95 is None) == (found.p_value is None) == (runs == 1)


def test_it_is_the_paired_t_test() -> None:
    ours, theirs = learned(Learned()), learned(Learned(seed=1, best=-125.0))
    found = compare(ours, theirs)
    one, other = (list(performances(each).values()) for each in (ours, theirs))
    wanted = stats.ttest_rel(one, other)
    assert found.p_value == pytest.approx(wanted.pvalue)
    assert found.interval95 == pytest.approx(tuple(wanted.confidence_interval()))


def test_p_values_are_corrected_for_all_pairs() -> None:
    found = compare_all([learned(Learned(seed=seed)) for seed in range(3)])
    assert set(found) == {(1, 0), (2, 0), (2, 1)}
    p_values = [each.p_value for each in found.values() if each.p_value is not None]
    assert [each.p_holm for each in found.values()] == holm(p_values)
    assert len(p_values) == 3


def test_a_pair_that_cannot_be_compared_is_absent() -> None:
    found = compare_all([learned(), learned(Learned(episodes=50)), learned()])
    assert set(found) == {(2, 0)}


def test_a_benchmark_that_judges_is_not_compared_by_learning() -> None:
    with raises(UsageError, "success", "performance"):
        compare(make_result(), learned())
