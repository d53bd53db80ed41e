"""Scores and episodes in pandas and in a notebook."""

from __future__ import annotations

import sys

import pytest

import reglue
from reglue.errors import BadArgument, MissingExtra
from reglue_bench.results.episodes import Episodes
from reglue_bench.results.result import Result
from reglue_bench.results.result_tables import COLUMNS
from reglue_bench.results.scores import PerformanceScore
from tests.reglue_bench.learning_results import Learned, learned
from tests.reglue_bench.made_results import Play, make_result


def test_scores_are_a_frame_with_a_row_for_each_task_and_for_all() -> None:
    result = make_result(Play(tasks=["a", "b"], goals=4))
    frame = result.to_pandas()
    assert [*frame.columns] == ["task", "what", "score", "low", "high", "n", "unit"]
    whole = frame[(frame.task == "") & (frame.what == "success")]
    assert whole.score.item() == result.mean_success_rate
    assert (whole.low.item(), whole.high.item()) == result.interval95
    assert frame[frame.what == "mean return"].low.isna().all()
    assert frame.score.dtype == frame.low.dtype == float


def test_curves_are_a_frame_with_a_row_for_each_point() -> None:
    result = learned()
    frame = result.to_pandas("curves")
    assert [*frame.columns] == ["curve", "at", "counted_in", "value", "low", "high", "n"]
    assert [*dict.fromkeys(frame.curve)] == ["return", "steps per episode"]
    shown = frame[frame.curve == "return"]
    score = result.score_as(PerformanceScore)
    assert shown["at"].tolist() == score.curve.at
    assert shown.value.tolist() == score.curve.mean
    assert [*zip(shown.low, shown.high, strict=True)] == score.curve.interval95
    with pytest.raises(BadArgument, match="'scores', 'curves' or 'units'"):
        result.to_pandas("goals")  # type: ignore[arg-type] # as a user may


def test_units_are_a_frame_with_a_row_for_each_episode_that_is_judged() -> None:
    result = make_result(Play(tasks=["a", "b"], goals=4, rate_before=0.5, faulty=0.5))
    frame = result.to_pandas("units")
    assert [*frame.columns] == ["task", "variant", "number", "seed", "value", "status"]
    judged = [row for row in result.episodes if row.phase == "evaluate"]
    assert frame.value.tolist() == [row.success for row in judged]
    assert frame.status.tolist() == [row.status for row in judged]
    assert frame.groupby("task").value.mean().to_dict() == result.success_rate_per_task


def test_units_of_agents_that_learn_are_runs() -> None:
    result = learned(Learned(runs=3, lost=(1,)))
    units = [(row.task, row.number, row.value, row.status) for row in result.units]
    runs = result.score_as(PerformanceScore).runs
    assert units == [("", run.run, run.performance, run.status) for run in runs]
    assert result.to_pandas("units").value.isna().tolist() == [False, True, False]


def test_episodes_are_a_frame_with_the_columns_of_an_export() -> None:
    result = reglue.evaluate("evaluate:cart-pole", "random", num_episodes=3)
    assert isinstance(result.episodes, Episodes)
    frame = result.episodes.to_pandas()
    assert [*frame.columns] == [*COLUMNS]
    assert frame["return"].tolist() == [row.return_ for row in result.episodes]
    assert frame.seed.tolist() == [row.seed for row in result.episodes]


def test_without_pandas_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(MissingExtra, match=r"reglue\[pandas\]"):
        make_result().to_pandas()


@pytest.mark.parametrize("result", [make_result(), learned()])
def test_a_prompt_shows_the_headline_alone(result: Result) -> None:
    assert repr(result) == f"<Result: {str(result).splitlines()[0]}>"


@pytest.mark.parametrize("result", [make_result(Play(label="<script>")), learned()])
def test_a_notebook_shows_every_score(result: Result) -> None:
    html = result._repr_html_()
    assert "<script" not in html
    assert html.count("<tr") == 1 + len(result.scores)
    for row in result.scores:
        assert row.of in html
