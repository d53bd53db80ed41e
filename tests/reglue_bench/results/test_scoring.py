"""The score: denominators are planned cells."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from reglue.errors import UsageError
from reglue_bench.measures.compare import Units, compare, paired
from reglue_bench.plans.plan import Plan
from reglue_bench.procedures import procedure_of
from reglue_bench.report.page import draw_report
from reglue_bench.results.episodes import with_cells
from reglue_bench.results.result import Result, read_result
from reglue_bench.results.scores import ReturnScore, SuccessScore
from reglue_bench.runs.ledger import Row
from reglue_bench.terminal.summary import notes
from tests.error_facts import raises
from tests.reglue_bench import toys
from tests.reglue_bench.toys import corridor_plan


def row(
    unit: int, k: int = 0, *, success: bool = False, status: str = "ok", return_: float = 1.0
) -> Row:
    return Row(
        unit,
        0,
        k,
        status,
        success,
        2 * success,
        return_,
        steps=2,
        clipped=1,
        defaulted=3,
        detail="",
    )


def scored(plan: Plan, rows: Sequence[Row]) -> Result:
    result = toys.scored(plan, rows)
    return result.with_episodes(list(with_cells(plan, rows)))


def test_a_missing_cell_is_a_failure() -> None:
    """Units 0, 2, 4 play a; 1, 3, 5 play b."""
    result = scored(corridor_plan(), [row(0, success=True), row(1, success=True)])
    assert result.success_rate_per_task == {"a": 1 / 3, "b": 1 / 3}
    assert result.mean_success_rate == 1 / 3
    assert result.status_counts == {"missing": 4, "ok": 2}
    assert not result.complete


def test_completed_only_figures_stand_beside() -> None:
    result = scored(corridor_plan(), [row(0, success=True), row(2)])
    assert result.score_as(SuccessScore).completed_only.success_rate_per_task == {"a": 0.5}


def test_a_fault_is_a_failure_and_no_completed_cell() -> None:
    rows = [row(unit, success=True) for unit in range(5)] + [row(5, status="agent_timeout")]
    result = scored(corridor_plan(), rows)
    assert result.success_rate_per_task == {"a": 1.0, "b": 2 / 3}
    assert result.score_as(SuccessScore).completed_only.mean_success_rate == 1.0
    assert result.coverage.cells_completed == 5
    assert result.complete


def test_returns_are_those_of_episodes_that_were_played() -> None:
    rows = [row(0, return_=2.0), row(2, return_=4.0), row(4, status="agent_error", return_=9.0)]
    result = scored(corridor_plan(), rows)
    assert result.returns_per_task == {"a": None, "b": None}  # no worst one is known
    assert result.mean_return is None


def test_an_episode_that_was_not_played_to_its_end_is_worth_the_worst_return() -> None:
    rows = [row(0, return_=2.0), row(2, return_=4.0), row(4, status="agent_abandoned", return_=9.0)]
    result = scored(corridor_plan(worst_performance=-6.0), rows)
    assert result.returns_per_task == {"a": 0.0, "b": -6.0}
    assert result.mean_return == -3.0


def test_the_worst_that_is_declared_may_lie_above_what_a_lost_episode_earned() -> None:
    rows = [row(0, return_=2.0), row(2, return_=4.0), row(4, status="crashed", return_=-9.0)]
    result = scored(corridor_plan(worst_performance=-6.0), rows)
    assert result.returns_per_task == {"a": -1.0, "b": -6.0}  # a: 2, 4 and -9


def test_goals_weigh_alike_in_a_mean_return_however_often_each_was_played() -> None:
    """Units of task a play its goals 0, 1, 2, 0, 1: its interval's centre is the mean."""
    plan = corridor_plan(solved={"a": [0, 0, 0]}, num_episodes=5, judged_by="return")
    rows = [row(unit, return_=float(number)) for unit, number in enumerate((1, 5, 20, 3, 5))]
    result = scored(plan, rows)
    assert result.returns_per_task == {"a": (2 + 5 + 20) / 3}
    low, high = result.interval95 or (0, 0)
    assert (low + high) / 2 == pytest.approx(result.mean_return)
    other = scored(plan, [replace(each, return_=each.return_ + each.unit) for each in rows])
    assert other.mean_return is not None
    assert result.mean_return is not None
    found = compare(other, result)
    assert found.difference == pytest.approx(other.mean_return - result.mean_return)
    assert found.difference_per_task["a"] == pytest.approx(found.difference)


def test_a_lost_episode_is_its_goals() -> None:
    plan = corridor_plan(solved={"a": [0, 0, 0]}, num_episodes=5, worst_performance=-6.0)
    rows = [row(unit, return_=2.0) for unit in range(4)]
    assert scored(plan, rows).returns_per_task == {"a": (2 + (2 - 6) / 2 + 2) / 3}


def test_a_score_of_success_has_no_performance() -> None:
    result = scored(corridor_plan(), [])
    with raises(UsageError, "corridor", "success", "performance"):
        _ = result.performance
    with raises(UsageError, "corridor", "success", "return"):
        result.score_as(ReturnScore)


def test_a_file_keeps_the_kind_of_its_score_and_another_kind_is_refused(tmp_path: Path) -> None:
    result = scored(corridor_plan(), [])
    path = result.write(tmp_path)
    assert read_result(path).score == result.score
    text = path.read_text()
    assert text.count('"kind": "success"') == 1
    for kind, place in (("return", "score.return.success"), ("praise", "score")):
        path.write_text(text.replace('"kind": "success"', f'"kind": "{kind}"'))
        with raises(UsageError, path, f"this version: {place}"):
            read_result(path)


def test_nothing_played_scores_zero_and_has_no_return() -> None:
    result = scored(corridor_plan(), [])
    assert result.mean_success_rate == 0.0
    assert result.mean_return is None


def test_the_unit_of_an_interval_is_the_goal() -> None:
    """Six repeats of three goals say no more than three goals: wider than of six."""
    once = scored(corridor_plan(), [row(unit, success=True) for unit in range(6)])
    plan = corridor_plan(num_episodes=6)
    twice = scored(plan, [row(unit, success=True) for unit in range(12)])
    assert once.score_as(SuccessScore).intervals95 == twice.score_as(SuccessScore).intervals95


def test_goals_weigh_alike_however_often_they_were_played() -> None:
    """Four episodes over three goals: variant 0 is played twice, and won."""
    rows = [row(unit, success=unit in (0, 6)) for unit in range(8)]
    result = scored(corridor_plan(num_episodes=4), rows)
    assert result.success_rate_per_task["a"] == pytest.approx(1 / 3)


def test_a_fault_in_any_phase_is_told() -> None:
    plan = corridor_plan("meta-learning", num_evals=1, adaptation_episodes=1, evaluation_episodes=1)
    rows = [row(0, k, status="agent_error" if k == 0 else "ok") for k in range(4)]
    result = scored(plan, rows)
    assert result.status_counts == {"ok": 2}
    assert [(fault.status, fault.count) for fault in result.faults] == [("agent_error", 1)]


def test_adaptation_episodes_are_listed_and_not_scored() -> None:
    plan = corridor_plan("meta-learning", num_evals=1, adaptation_episodes=1, evaluation_episodes=1)
    rows = [row(0, k, success=k >= 2) for k in range(4)]  # two adapt, two are judged
    result = scored(plan, rows)
    assert result.mean_success_rate == 1.0
    assert [e.phase for e in result.episodes] == ["adapt", "adapt", "evaluate", "evaluate"]
    assert result.coverage.cells_planned == 2


def test_a_task_that_is_not_planned_is_not_scored() -> None:
    plan = corridor_plan("meta-learning", num_evals=1, meta_batch_size=1, slots=1)
    result = scored(plan, [row(0, k, success=True) for k in range(5)])
    assert result.success_rate_per_task == {"a": 1.0}
    assert (result.coverage.goals_planned, result.coverage.goals_total) == (1, 6)


def test_steps_and_seconds_are_told_apart() -> None:
    result = scored(corridor_plan(), [row(0), row(1)])
    assert (result.steps.counted, result.steps.executed) == (4, 50)
    assert result.seconds.glue == pytest.approx(0.5)
    assert result.clipped_steps == 2
    assert result.defaulted_steps == 6


def test_success_before_adaptation_is_a_score_of_its_own() -> None:
    plan = corridor_plan(
        "meta-learning",
        num_evals=1,
        adaptation_episodes=1,
        evaluation_episodes=1,
        evaluate_before_adaptation=True,
    )
    rows = [row(0, k, success=k >= 5) for k in range(6)]
    result = scored(plan, rows)
    before = result.score_as(SuccessScore).before_adaptation
    assert before is not None
    assert before.mean_success_rate == 0.0
    assert result.mean_success_rate == 0.5


def test_tasks_may_differ_in_their_goals() -> None:
    """3 episodes a task: of four goals three are played, and of two one twice."""
    result = scored(corridor_plan(solved={"a": [1, 3, 0, 2], "b": [5, 0]}), [])
    assert result.coverage.episodes_planned == {"a": {0: 1, 1: 1, 2: 1}, "b": {0: 2, 1: 1}}
    pairs = paired([Units(result)] * 2)
    assert {task: each.shape for task, each in pairs.items()} == {"a": (2, 3), "b": (2, 2)}


def test_a_goal_that_was_played_in_part_fails_in_the_rest() -> None:
    """Goal 0 of b has two episodes, of which one was played."""
    plan = corridor_plan(solved={"a": [1, 3, 0], "b": [5, 0]})
    result = scored(plan, [row(1, success=True)])
    assert paired([Units(result)])["b"].tolist() == [[0.5, 0.0]]


def test_upstreams_score_divides_by_its_quota() -> None:
    """Two of a's three episodes that would count were played, and none of b's."""
    plan = corridor_plan("meta-learning", solved={"a": [0, 0], "b": [0, 0]}, slots=4)
    parameters = {**plan.parameters, "estimator": "metaworld", "num_evals": 1}
    plan = replace(plan, parameters=parameters)
    cells = [cell for cell in procedure_of(plan).cells(0) if cell.phase == "evaluate"]
    rows = [row(0, cell.k, success=cell.task == "a") for cell in cells if cell.task == "a"]
    result = scored(plan, rows[:2])
    upstream = result.score_as(SuccessScore).upstream
    assert upstream is not None
    assert upstream.success_rate_per_task == {"a": 2 / 3, "b": 0.0}
    assert upstream.mean_return == 1.0


def test_an_interval_over_one_goal_says_so_and_names_evaluate() -> None:
    """A hundred episodes of an environment with one variant are one goal."""

    def told(solved: dict[str, list[int]], episodes: int) -> str:
        plan = corridor_plan(solved=solved, num_episodes=episodes)
        plan = replace(plan, benchmark="multi-task:my_gym.py:Corner")
        units = range(episodes * len(solved))
        return "\n".join(notes(scored(plan, [row(unit, success=True) for unit in units])))

    assert "evaluate:my_gym.py:Corner" in told({"a": [0]}, 100)
    assert "1 goal: its episodes count as one" in told({"a": [0]}, 100)
    assert "evaluate:" not in told({"a": [0]}, 1)
    assert "evaluate:" not in told({"a": [0, 0]}, 100)


def test_runs_whose_episodes_are_worth_nothing_known_are_shown_and_not_compared() -> None:
    plan = corridor_plan(solved={"a": [0], "b": [0]}, judged_by="return")
    whole = scored(plan, [row(unit, return_=float(unit)) for unit in range(6)])
    lost = scored(plan, [row(unit, status="ok" if unit else "crashed") for unit in range(6)])
    assert [unit.value for unit in lost.units][:2] == [None, 1.0]
    with raises(UsageError, "probe", "episode", "worst performance"):
        compare(lost, whole)
    comparison = draw_report([("whole", whole), ("lost", lost)]).comparison
    assert comparison is not None
    assert not comparison.differences
    assert "lost has no score, and is not compared." in comparison.notes
