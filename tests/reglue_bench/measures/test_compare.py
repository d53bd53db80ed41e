"""Two agents, or several, on the same goals."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reglue.errors import UsageError
from reglue_bench.float_range import FloatArray
from reglue_bench.measures.compare import Units, compare, compare_all, holm, paired
from reglue_bench.results.result import Result
from tests.reglue_bench.made_results import Play, make_result

TASKS = ("reach-v3", "push-v3")


def with_success(won: dict[str, list[int]], *, plan: str = "5e" * 32) -> Result:
    """A run of one episode a goal with exactly this success."""
    goals = len(next(iter(won.values())))
    result = make_result(Play(tasks=list(won), goals=goals, plan=plan))
    rows = [replace(row, success=bool(won[row.task][row.variant])) for row in result.episodes]
    return result.with_episodes(rows)


def test_the_difference_is_the_mean_over_tasks_of_goal_by_goal_differences() -> None:
    better = with_success({"reach-v3": [1, 1, 1, 0], "push-v3": [1, 0, 0, 0]})
    worse = with_success({"reach-v3": [1, 0, 0, 0], "push-v3": [0, 0, 0, 1]})
    found = compare(better, worse)
    assert found.difference == pytest.approx(0.25)
    assert found.difference_per_task == pytest.approx({"reach-v3": 0.5, "push-v3": 0.0})
    assert found.interval95 is not None
    assert found.interval95[0] < 0.25 < found.interval95[1]


def test_comparing_the_other_way_round_changes_the_sign() -> None:
    one = make_result(Play(rate=0.8, label="one"))
    other = make_result(Play(rate=0.6, label="other"))
    there, back = compare(one, other), compare(other, one)
    assert there.difference == pytest.approx(-back.difference)
    assert there.interval95 is not None
    assert back.interval95 is not None
    assert there.interval95 == pytest.approx([-end for end in reversed(back.interval95)])
    assert there.p_value == pytest.approx(back.p_value)


def test_it_is_bonett_and_prices_interval() -> None:
    """By hand: of 10 goals one run wins 6 that the other does not; one more is won by either."""
    better = with_success({"reach-v3": [1] * 6 + [0] * 4})
    found = compare(better, with_success({"reach-v3": [0] * 10}))
    reach = 1.959964 * (((7 + 1) / 12 - 0.5**2) / 12) ** 0.5
    assert found.interval95 == pytest.approx((0.5 - reach, 0.5 + reach))


@pytest.mark.parametrize("wins", range(13))
def test_an_interval_leaves_0_out_if_and_only_if_p_is_below_a_twentieth(wins: int) -> None:
    better = with_success({"a": [1] * wins + [0] * (12 - wins), "b": [0] * 12})
    found = compare(better, with_success({"a": [0] * 12, "b": [0] * 11 + [1]}))
    assert found.interval95 is not None
    assert found.p_value is not None
    assert (found.p_value < 0.05) == (not found.interval95[0] <= 0 <= found.interval95[1])


@pytest.mark.parametrize("won", [[1, 0, 0, 0], [1, 1, 1, 1]])
def test_four_goals_tell_nothing(won: list[int]) -> None:
    found = compare(with_success({"reach-v3": won}), with_success({"reach-v3": [0] * 4}))
    assert (found.interval95, found.p_value) == (None, None)


def test_equal_differences_do_not_make_the_interval_vanish() -> None:
    all_won, none_won = (with_success({"reach-v3": [won] * 8}) for won in (1, 0))
    found = compare(all_won, none_won)
    assert found.interval95 is not None
    assert found.interval95[0] < found.interval95[1] == 1.0


def test_equal_runs_are_not_told_apart() -> None:
    run = make_result()
    found = compare(run, run)
    assert (found.difference, found.p_value) == (0, 1)
    assert found.interval95 is not None
    assert found.interval95[0] == pytest.approx(-found.interval95[1])
    assert found.probability_of_improvement is None


def test_the_same_results_give_the_same_comparison() -> None:
    one = make_result(Play(rate=0.8, label="one"))
    other = make_result(Play(rate=0.7, label="other"))
    assert compare(one, other) == compare(one, other)


def test_runs_of_one_plan_are_paired_on_all_planned_goals() -> None:
    half = make_result(Play(tasks=TASKS, goals=10, missing=10))
    found = compare(make_result(Play(tasks=TASKS, goals=10)), half)
    assert (found.same_plan, found.pairs) == (True, 20)


def test_runs_of_different_plans_are_paired_on_the_cells_they_share() -> None:
    long = make_result(Play(tasks=TASKS, goals=10, plan="aa" * 32))
    short = make_result(Play(tasks=TASKS, goals=4, plan="bb" * 32))
    found = compare(long, short)
    assert (found.same_plan, found.pairs) == (False, 8)


def test_runs_of_other_goals_are_not_paired_by_their_numbers() -> None:
    """Variant 3 of another seed is another goal."""
    ours, theirs = make_result(Play()), make_result(Play(plan="aa" * 32, goals_hash="bb" * 32))
    with pytest.raises(UsageError, match="cannot be compared"):
        compare(ours, theirs)


def test_runs_without_a_common_cell_are_refused() -> None:
    one = make_result(Play(tasks=["reach-v3"], plan="aa" * 32))
    other = make_result(Play(tasks=["push-v3"], plan="bb" * 32))
    with pytest.raises(UsageError, match="no goal in common"):
        compare(one, other)


def test_holm_corrects_as_in_the_textbook() -> None:
    assert holm([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06])


@settings(max_examples=15)  # theirs takes a tenth of a second
@given(p_values=st.lists(st.floats(0, 1), min_size=1, max_size=12))
def test_holm_is_that_of_statsmodels(p_values: list[float]) -> None:
    from statsmodels.stats.multitest import multipletests

    assert holm(p_values) == pytest.approx(multipletests(p_values, method="holm")[1].tolist())


def test_holm_of_nothing_is_nothing() -> None:
    assert holm([]) == []


def test_every_pair_is_corrected_for_the_number_of_pairs() -> None:
    runs = [make_result(Play(rate=rate, label=f"{rate}")) for rate in (0.6, 0.65, 0.9)]
    found = compare_all(runs)
    assert sorted(found) == [(1, 0), (2, 0), (2, 1)]
    p_values = [each.p_value for each in found.values() if each.p_value is not None]
    assert [each.p_holm for each in found.values()] == holm(p_values)
    assert len(p_values) == 3


def test_a_pairs_numbers_do_not_depend_on_what_else_is_compared() -> None:
    runs = [make_result(Play(rate=rate, label=f"{rate}")) for rate in (0.6, 0.65, 0.9)]
    pair, all_pairs = compare_all(runs[:2]), compare_all(runs)
    assert pair[1, 0].interval95 == all_pairs[1, 0].interval95


def success(*runs: Result) -> FloatArray:
    """Of reach-v3, shape (runs, goals)."""
    return paired([Units(run) for run in runs])["reach-v3"]


def test_episodes_of_one_goal_are_averaged_into_one_number() -> None:
    run = make_result(Play(tasks=["reach-v3"], goals=4, episodes_per_goal=3, rate=0.5))
    by_hand = [np.mean([r.success for r in run.episodes if r.variant == v]) for v in range(4)]
    assert success(run)[0].tolist() == by_hand


def test_episodes_before_adaptation_do_not_count_as_success() -> None:
    result = make_result(Play(tasks=["reach-v3"], goals=5, rate=-1, rate_before=2))
    assert success(result)[0].tolist() == [0] * 5


def test_a_goal_that_neither_run_of_a_plan_played_is_a_failure_of_both() -> None:
    half = make_result(Play(tasks=["reach-v3"], goals=10, missing=5, rate=1.0))
    assert success(half, half).shape == (2, 10)
    assert success(half, half)[:, 5:].sum() == 0


def test_runs_of_one_plan_are_paired_as_goal_by_goal() -> None:
    """Whole runs, runs with faults and partial ones."""
    asked = Play(goals=8, episodes_per_goal=3, rate=0.5)
    plays = [asked, replace(asked, faulty=0.3, label="b"), replace(asked, missing=31, label="c")]
    runs = [make_result(each) for each in plays]
    for task, found in paired([Units(run) for run in runs]).items():
        won = Counter(
            (place, row.variant)
            for place, run in enumerate(runs)
            for row in run.episodes
            if row.task == task and row.success
        )
        assert found.tolist() == [[won[place, goal] / 3 for goal in range(8)] for place in range(3)]


def test_an_episode_that_only_one_run_played_is_the_others_failure() -> None:
    whole = make_result(Play(tasks=["reach-v3"], goals=4, episodes_per_goal=3, rate=1.0))
    *others, last = whole.episodes
    cut = whole.with_episodes(others)
    rates = success(whole, cut)
    assert rates[1, 3] == pytest.approx(rates[0, 3] - last.success / 3)
