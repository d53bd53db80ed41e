"""A result's scores as rows: each task's and those over all, of each kind of score."""

from __future__ import annotations

from io import StringIO

from rich.console import Console

from reglue_bench.results.result import Result
from reglue_bench.results.scores import PerformanceScore, TaskScore
from reglue_bench.terminal.summary import print_summary
from tests.reglue_bench.learning_results import learned
from tests.reglue_bench.made_results import Play, make_result


def test_success_has_its_intervals_and_the_returns_stand_beside_it() -> None:
    result = make_result(Play(tasks=["a", "b"], goals=4, rate_before=0.5))
    score = result.score
    before = next(row for row in result.scores if row.what == "success before adaptation")
    assert before.interval95 is None
    rows = [(row.task, row.what, row.n, row.unit) for row in result.scores]
    assert rows == [
        (task, what, n, unit)
        for what, unit in (
            ("success", "goal"),
            ("success before adaptation", "goal"),
            ("mean return", "episode"),
        )
        for task, n in (("a", 4), ("b", 4), ("", 8))
    ]
    last = result.scores[2]
    assert (last.score, last.interval95) == (score.value, score.interval95)
    assert result.score_by_task.keys() == {"a", "b"}


def test_runs_that_learn_have_one_row_and_none_if_it_is_withheld() -> None:
    result = learned()
    score, [row] = result.score_as(PerformanceScore), result.scores
    assert score.performance is not None
    assert row == TaskScore(
        "", "performance", score.performance, score.interval95, len(score.runs), "run"
    )
    withheld = score.model_copy(update={"performance": None})
    assert result.model_copy(update={"score": withheld}).scores == []


def printed(result: Result) -> str:
    out = StringIO()
    print_summary(Console(file=out, width=120), result)
    return out.getvalue()


def test_the_terminals_table_has_a_column_for_each_kind_of_score() -> None:
    result = make_result(Play(tasks=["a"], goals=4, rate=2.0, rate_before=-1.0))
    text = printed(result)
    for heading in (
        "goals",
        "success",
        "95 % interval",
        "success before adaptation",
        "mean return",
    ):
        assert heading in text
    [row] = [line for line in text.splitlines() if line.startswith("│ a ")]
    assert [cell.strip() for cell in row.split("│")[1:6]][:3] == ["a", "4", "1.000"]
    assert "0.000" in row
