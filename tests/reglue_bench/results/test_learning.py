"""The score of an online benchmark: a fold over rows; what a run is worth, and how sure it is."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reglue.errors import UsageError
from reglue_bench.float_range import FloatArray
from reglue_bench.plans.plan import Plan
from reglue_bench.procedures.online import measured
from reglue_bench.results.learning import binned, edges, mean_in_order, pointwise95, t_interval95
from reglue_bench.results.result import Result
from reglue_bench.results.scores import PerformanceScore
from reglue_bench.runs.ledger import Row
from tests.error_facts import raises
from tests.reglue_bench.toys import online_plan, scored


def row(
    unit: int, k: int, return_: float = 1.0, *, status: str = "ok", steps: int = 2, attempt: int = 0
) -> Row:
    return Row(
        unit, attempt, k, status, False, 0, return_, steps, clipped=0, defaulted=0, detail=""
    )


def online(plan: Plan, rows: Sequence[Row], rewards: FloatArray | None = None) -> PerformanceScore:
    found = scored(plan, rows, {} if rewards is None else {0: rewards}).score_as(PerformanceScore)
    assert found is not None
    return found


def run(unit: int, *returns: float) -> list[Row]:
    return [row(unit, k, each) for k, each in enumerate(returns)]


PLAN = online_plan(runs=3, episodes=4)


def test_a_runs_performance_is_the_mean_of_its_returns_and_the_agents_the_mean_over_runs() -> None:
    found = online(PLAN, [*run(0, 1, 2, 3, 4), *run(1, 3, 4, 5, 6), *run(2, 5, 6, 7, 8)])
    assert [each.performance for each in found.runs] == [2.5, 4.5, 6.5]
    assert found.performance == 4.5
    assert found.interval95 == pytest.approx((4.5 - 4.968, 4.5 + 4.968), abs=1e-3)


def test_the_curve_is_the_mean_over_runs_of_each_episode() -> None:
    rows = [*run(0, 1, 2, 3, 4), *run(1, 3, 4, 5, 6), *run(2, 5, 6, 7, 8)]
    found = online(PLAN, rows)
    assert found.curve.at == [1, 2, 3, 4]
    assert found.curve.mean == [3.0, 4.0, 5.0, 6.0]
    assert len(found.curve.interval95) == 4
    assert found.episode_steps is not None
    assert found.episode_steps.mean == [2.0] * 4


def test_a_run_that_ended_by_a_fault_is_listed_and_leaves_no_score_without_a_worst_one() -> None:
    rows = [*run(0, 1, 2, 3, 4), *run(1, 100, 100), row(1, 2, status="agent_timeout")]
    found = online(PLAN, [*rows, *run(2, 3, 4, 5, 6)])
    assert [each.status for each in found.runs] == ["ok", "agent_timeout", "ok"]
    assert found.runs[1].performance is None
    assert found.runs[1].line == [100.0, 100.0]
    assert (found.performance, found.interval95) == (None, None)
    assert found.completed_only == 3.5
    assert found.curve.mean == [2.0, 3.0, 4.0, 5.0]


def test_a_run_that_ended_by_the_agents_fault_is_worth_the_plans_worst_performance() -> None:
    plan = online_plan(runs=3, episodes=4, worst_performance=-8.0)
    rows = [*run(0, 1, 2, 3, 4), *run(1, 100, 100), row(1, 2, status="agent_timeout")]
    found = online(plan, [*rows, *run(2, 3, 4, 5, 6)])
    assert [each.performance for each in found.runs] == [2.5, -8.0, 4.5]
    assert found.performance == pytest.approx(-1 / 3)
    assert found.interval95 is not None


def test_the_worst_that_is_declared_may_lie_above_what_a_lost_run_earned() -> None:
    plan = online_plan(runs=2, episodes=4, worst_performance=-8.0)
    found = online(plan, [*run(0, 1, 2, 3, 4), *run(1, -20), row(1, 1, status="agent_error")])
    assert [each.performance for each in found.runs] == [2.5, -20.0]


def test_an_environments_fault_is_worth_nothing_and_leaves_no_score() -> None:
    plan = online_plan(runs=2, episodes=1, worst_performance=-8.0)
    found = online(plan, [*run(0, 1), row(1, 0, status="environment_error")])
    assert [each.performance for each in found.runs] == [1.0, None]
    assert found.performance is None
    assert "an environment failed in 1 of 2 runs" in found.withheld


def test_a_run_that_is_missing_is_counted() -> None:
    result = scored(PLAN, run(0, 1, 2, 3, 4))
    assert result.status_counts == {"missing": 2, "ok": 1}
    assert (result.coverage.cells_completed, result.coverage.cells_planned) == (1, 3)
    assert not result.complete


def test_a_single_run_has_a_performance_and_no_interval() -> None:
    found = online(online_plan(runs=1, episodes=4), run(0, 1, 2, 3, 4))
    assert (found.performance, found.interval95, found.curve.interval95) == (2.5, None, [])


def test_nothing_played_has_no_performance() -> None:
    found = online(PLAN, [])
    assert (found.performance, found.interval95, found.curve.mean) == (None, None, [])
    assert [each.status for each in found.runs] == ["missing"] * 3


def test_a_run_of_steps_is_measured_by_its_rewards() -> None:
    plan = online_plan(runs=1, steps=200, metric="final:50")
    rewards = np.repeat([1.0, 2.0, 3.0, 4.0], 50)
    found = online(plan, [row(0, 0, steps=150), row(0, 1, steps=50)], rewards)
    assert found.performance == 4.0
    assert found.curve.at == list(range(2, 202, 2))
    assert found.curve.mean == [1.0] * 25 + [2.0] * 25 + [3.0] * 25 + [4.0] * 25
    assert found.episode_steps is None
    assert found.runs[0].episodes == 2


def test_successes_are_counted_where_there_are_any() -> None:
    rows = [row(0, k) for k in range(4)]
    won = [Row(0, 0, 4, "ok", True, 2, 1.0, 2, 0, 0, "")]
    assert online(online_plan(runs=1, episodes=5), rows + won).runs[0].successes == 1


@pytest.mark.parametrize(
    ("name", "measure"),
    [
        ("mean_success_rate", "success"),
        ("success_rate_per_task", "success"),
        ("mean_return", "return"),
        ("returns_per_task", "return"),
    ],
)
def test_there_is_no_score_of_another_measure(name: str, measure: str) -> None:
    with raises(UsageError, "corridor", "performance", measure):
        getattr(scored(PLAN, run(0, 1, 2, 3, 4)), name)


def test_a_result_comes_back_from_json() -> None:
    result = scored(PLAN, [*run(0, 1, 2, 3, 4), row(1, 0, status="agent_error")])
    assert Result.model_validate_json(result.model_dump_json(by_alias=True)) == result


def test_steps_and_seconds_are_told() -> None:
    result = scored(PLAN, run(0, 1, 2, 3, 4))
    assert (result.steps.counted, result.steps.executed) == (8, 50)
    assert result.seconds.glue == pytest.approx(0.5)


def test_all_measures_the_whole_run_and_final_its_end() -> None:
    assert measured("all", 200) == 200
    assert measured("final:100", 200) == 100
    assert measured("final:200", 200) == 200


@pytest.mark.parametrize("metric", ["final", "final:", "final:0", "final:-1", "final:x", "last:3"])
def test_another_measure_is_refused(metric: str) -> None:
    with raises(UsageError, "all", "final:N", got=f"metric={metric}", settings={"metric"}):
        measured(metric, 200)


def test_more_than_a_run_has_cannot_be_measured() -> None:
    with raises(UsageError, "metric=final:100", 99, "final:99", settings={"metric"}):
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
