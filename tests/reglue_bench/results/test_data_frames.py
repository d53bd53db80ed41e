"""Scores and episodes in pandas and in a notebook."""

from __future__ import annotations

import sys

import pytest

import reglue
from reglue.errors import BadArgument, MissingExtra
from reglue_bench.results.episode_columns import COLUMNS
from reglue_bench.results.episodes import Episodes
from reglue_bench.results.result import Result
from reglue_bench.results.scores import PerformanceScore
from tests.reglue_bench.learning_results import learned
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
    with pytest.raises(BadArgument, match="'scores' or 'curves'"):
        result.to_pandas("units")  # type: ignore[arg-type] # as a user may


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


@pytest.mark.parametrize("result", [make_result(Play(label="<script>")), learned()])
def test_a_notebook_shows_every_score(result: Result) -> None:
    html = result._repr_html_()
    assert "<script" not in html
    assert html.count("<tr") == 1 + len(result.scores)
    for row in result.scores:
        assert row.of in html
