"""Two agents, or several, on the same goals."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from reglue.errors import UsageError
from reglue_bench.comparison import compare, compare_all
from reglue_bench.paired import bootstrap_interval, holm
from reglue_bench.result import Result
from tests.reglue_bench.results import Play, make_result

TASKS = ("reach-v3", "push-v3")


def rng() -> np.random.Generator:
    return np.random.default_rng(0)


def with_success(won: dict[str, list[int]], *, plan: str = "5e" * 32) -> Result:
    """A run of one episode a goal with exactly this success."""
    goals = len(next(iter(won.values())))
    result = make_result(Play(tasks=list(won), goals=goals, plan=plan))
    rows = [replace(row, success=bool(won[row.task][row.variant])) for row in result.episodes]
    return result.model_copy(update={"episodes": rows})


def test_the_difference_is_the_mean_over_tasks_of_goal_by_goal_differences() -> None:
    better = with_success({"reach-v3": [1, 1, 1, 0], "push-v3": [1, 0, 0, 0]})
    worse = with_success({"reach-v3": [1, 0, 0, 0], "push-v3": [0, 0, 0, 1]})
    found = compare(better, worse, rng=rng())
    assert found.difference == pytest.approx(0.25)
    assert found.difference_per_task == pytest.approx({"reach-v3": 0.5, "push-v3": 0.0})
    assert found.probability_of_improvement == pytest.approx((0.75 + 0.5) / 2)
    assert found.interval95 is not None
    assert found.interval95[0] < 0.25 < found.interval95[1]


def test_comparing_the_other_way_round_changes_the_sign() -> None:
    one = make_result(Play(rate=0.8, label="one"))
    other = make_result(Play(rate=0.6, label="other"))
    there, back = compare(one, other, rng=rng()), compare(other, one, rng=rng())
    assert there.difference == pytest.approx(-back.difference)
    assert there.probability_of_improvement + back.probability_of_improvement == pytest.approx(1)


def test_six_wins_and_no_loss_have_the_sign_tests_exact_p_value() -> None:
    better = with_success({"reach-v3": [1] * 6 + [0] * 4})
    worse = with_success({"reach-v3": [0] * 10})
    assert compare(better, worse, rng=rng()).p_value == pytest.approx(2 / 2**6)


def test_one_goal_that_differs_tells_nothing() -> None:
    better = with_success({"reach-v3": [1, 0, 0, 0]})
    assert compare(better, with_success({"reach-v3": [0] * 4}), rng=rng()).p_value == 1


@pytest.mark.parametrize("strata", [[5], [10], [50], [4] * 10])
def test_the_interval_covers_what_it_says(strata: list[int]) -> None:
    draws, trials = rng(), 400
    held = 0
    for _ in range(trials):
        drawn = {f"{k}": draws.normal(size=n) for k, n in enumerate(strata)}
        interval = bootstrap_interval(drawn, rng=draws)
        assert interval is not None
        held += interval[0] <= 0 <= interval[1]
    assert 0.89 <= held / trials <= 0.98  # plain percentiles of 5: 0.84


@pytest.mark.parametrize("strata", [[1], [4], [1] * 10, [2] * 3, [3, 2, 1]])
def test_too_few_differences_have_no_interval(strata: list[int]) -> None:
    drawn = {f"{k}": np.arange(float(n)) for k, n in enumerate(strata)}
    assert bootstrap_interval(drawn, rng=rng()) is None


def test_equal_runs_are_not_told_apart() -> None:
    run = make_result()
    found = compare(run, run, rng=rng())
    assert (found.difference, found.interval95, found.p_value) == (0, (0, 0), 1)
    assert found.probability_of_improvement == 0.5


def test_the_same_generator_seed_gives_the_same_comparison() -> None:
    one = make_result(Play(rate=0.8, label="one"))
    other = make_result(Play(rate=0.7, label="other"))
    assert compare(one, other, rng=rng()) == compare(one, other, rng=rng())


def test_runs_of_one_plan_are_paired_on_all_planned_goals() -> None:
    half = make_result(Play(tasks=TASKS, goals=10, missing=10))
    found = compare(make_result(Play(tasks=TASKS, goals=10)), half, rng=rng())
    assert (found.same_plan, found.pairs) == (True, 20)


def test_runs_of_different_plans_are_paired_on_the_cells_they_share() -> None:
    long = make_result(Play(tasks=TASKS, goals=10, plan="aa" * 32))
    short = make_result(Play(tasks=TASKS, goals=4, plan="bb" * 32))
    found = compare(long, short, rng=rng())
    assert (found.same_plan, found.pairs) == (False, 8)


def test_runs_of_other_goals_are_not_paired_by_their_numbers() -> None:
    """Variant 3 of another seed is another goal."""
    ours, theirs = make_result(Play()), make_result(Play(plan="aa" * 32, goals_hash="bb" * 32))
    with pytest.raises(UsageError, match="nothing to compare"):
        compare(ours, theirs, rng=rng())


def test_runs_without_a_common_cell_are_refused() -> None:
    one = make_result(Play(tasks=["reach-v3"], plan="aa" * 32))
    other = make_result(Play(tasks=["push-v3"], plan="bb" * 32))
    with pytest.raises(UsageError, match="no evaluation cell in common"):
        compare(one, other, rng=rng())


def test_holm_corrects_as_in_the_textbook() -> None:
    assert holm([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06])


def test_every_pair_is_corrected_for_the_number_of_pairs() -> None:
    runs = [make_result(Play(rate=rate, label=f"{rate}")) for rate in (0.6, 0.65, 0.9)]
    found = compare_all(runs, seed=0)
    assert sorted(found) == [(1, 0), (2, 0), (2, 1)]
    assert [each.p_holm for each in found.values()] == holm([e.p_value for e in found.values()])


def test_a_pairs_numbers_do_not_depend_on_what_else_is_compared() -> None:
    runs = [make_result(Play(rate=rate, label=f"{rate}")) for rate in (0.6, 0.65, 0.9)]
    pair, all_pairs = compare_all(runs[:2], seed=0), compare_all(runs, seed=0)
    assert pair[1, 0].interval95 == all_pairs[1, 0].interval95
