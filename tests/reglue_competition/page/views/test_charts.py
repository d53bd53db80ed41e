from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

import pytest

from reglue_bench.results.learning import lowest_of
from reglue_bench.results.scores import PerformanceScore
from reglue_competition.page.views.charts import (
    WIDE,
    _line,
    _tick,
    _ticks,
    _x_ticks,
    bar,
    learning_curves,
    scale,
    success_curve,
)
from tests.reglue_bench.made_results import Play, make_result
from tests.reglue_bench.results.test_wide_returns import EXTREMES, made


@pytest.mark.parametrize(
    ("low", "high"),
    [(-20.000000000000004, -20.0), (0.3, 0.30000000000000004), (0.0, 5e-324), (-1.7e308, 1.7e308)],
)
def test_an_axis_is_drawn_of_any_numbers(low: float, high: float) -> None:
    """Means of equal numbers differ by their rounding."""
    ticks = _ticks(low, high)
    assert len({_tick(each, ticks[1] - ticks[0]) for each in ticks}) == len(ticks) >= 3
    assert "nan" not in _line([(0, low), (1, high)], (0, 1), (ticks[0], ticks[-1]))


@pytest.mark.parametrize(
    ("low", "high", "expected"),
    [
        (-149.0, -30.5, ["−150", "−100", "−50", "0"]),
        (0.0, 1.0, ["0", "0.25", "0.5", "0.75", "1"]),
        (3.0, 3.0, ["1", "2", "3", "4", "5"]),
        (0.0, 0.0, ["−0.5", "−0.25", "0", "0.25", "0.5"]),
        (-0.0021, 0.0013, ["−0.003", "−0.002", "−0.001", "0", "0.001", "0.002"]),
        (1234.0, 2999.0, ["1,000", "1,500", "2,000", "2,500", "3,000"]),
    ],
)
def test_an_axis_has_round_numbers_around_what_it_shows(
    low: float, high: float, expected: list[str]
) -> None:
    ticks = _ticks(low, high)
    assert [_tick(each, ticks[1] - ticks[0]) for each in ticks] == expected
    assert ticks[0] <= low <= high <= ticks[-1]


def test_the_middle_of_an_axis_is_named_as_it_is() -> None:
    assert _x_ticks(0, 5) == ["0", "2.5", "5"]
    assert _x_ticks(0, 4000) == ["0", "2,000", "4,000"]


def test_a_bar_lies_between_the_ends_of_its_scale() -> None:
    ends = scale([(2.0, (1.0, 4.0)), (None, None), (5.0, None)], is_rate=False)
    assert ends == (1.0, 5.0)
    found = bar(2.0, (1.0, 4.0), ends)
    assert found is not None
    assert (found.low, found.at, found.high) == (1.0, 25.5, 74.5)
    assert bar(None, None, ends) is None
    assert bar(2.0, None, (2.0, 2.0)) is None


@pytest.mark.parametrize("returns", EXTREMES.values(), ids=EXTREMES)
def test_bars_and_curves_are_drawn_of_returns_of_any_size(returns: Sequence[float]) -> None:
    """Each coordinate is a number within its drawing."""
    found = made("online", returns)
    interval = found.interval95 or (found.score.value or 0.0,) * 2
    drawn = bar(found.score.value, interval, (min(*returns, 0.0), max(returns)))
    assert drawn is not None
    assert all(0 <= each <= 100 for each in (drawn.low, drawn.at, drawn.high))
    score = found.score_as(PerformanceScore)
    for curve in learning_curves(score, lowest_of(found.parameters, score.runs)):
        for line in (curve.mean, curve.band, *curve.runs):
            numbers = [float(each) for each in re.split("[ ,]", line) if each]
            assert all(0 <= each <= WIDE for each in numbers)


def test_a_success_curve_rises_where_episodes_succeed_and_not_where_they_end() -> None:
    result = make_result(Play(tasks=["reach"], goals=4, rate=2.0))
    rows = [
        replace(row, steps=100, first_success=10 * (1 + row.variant)) for row in result.episodes
    ]
    curve = success_curve(result, rows)
    assert curve is not None
    shares = {row[0]: row[1] for row in curve.rows}
    assert (shares["10"], shares["20"], shares["40"]) == ("25.0 %", "50.0 %", "100.0 %")
