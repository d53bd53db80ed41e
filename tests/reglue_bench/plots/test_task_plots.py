"""The strips of returns, and the page of an evaluation."""

from __future__ import annotations

from typing import Any

import numpy as np

from reglue_bench import evaluate
from reglue_bench.plots.figures import NEUTRAL, Dots, left_out, strips
from reglue_bench.plots.task_plots import returns
from reglue_bench.renderers.renderer import renderer_of
from reglue_bench.report.page_contents import comparison_view, run_view
from reglue_bench.results.result import Result


def played(action: int, **options: Any) -> Result:
    return evaluate(
        "evaluate:gymnasium:CartPole-v1",
        agent=lambda seen: np.full(len(seen), action),
        **{"num_episodes": 6, "workers": 0, "label": f"always {action}", **options},
    )


def test_a_strip_has_a_dot_for_each_episode_and_its_mean() -> None:
    result = played(0, seed=7)
    plot = returns([("", result)], plot_id="strip")
    box, dots, interval, mean = plot.figure.marks
    assert list(dots.x) == [row.return_ for row in result.episodes]
    first, last = np.quantile(dots.x, [0.25, 0.75])
    assert (np.nanmin(box.x), np.nanmax(box.x)) == (first, last)
    assert mean.x == [result.mean_return]
    assert tuple(interval.x[:2]) == result.interval95
    assert plot.table.rows[0][:2] == ["CartPole-v1", "6"]
    assert not plot.legend


def test_a_caption_says_how_many_dots_are_left_out() -> None:
    *_, dots = strips({0: [*range(1200)]}, height=1, colour=NEUTRAL)
    assert list(dots.x) == [*range(0, 1200, 3)]
    assert (left_out(1200), left_out(500)) == (" One dot in 3 is drawn.", "")


def test_runs_stand_beside_each_other_in_one_plot() -> None:
    runs = [("zeros", played(0)), ("ones", played(1))]
    plot = returns(runs, plot_id="strips")
    assert [name for _, name in plot.legend] == ["zeros", "ones"]
    assert [row[0] for row in plot.table.rows] == ["zeros", "ones"]
    first, second = (
        mark.y[0]
        for mark in plot.figure.marks
        if isinstance(mark, Dots) and mark.shape == "diamond"
    )
    assert first < second


def test_the_page_names_the_seeds_that_were_played() -> None:
    view = run_view("zeros", played(0, seed=7), run_id="run")
    assert ("seeds of environments", "7 to 12") in renderer_of(view.result).facts(view.result)
    assert [plot.title for plot in view.plots] == ["Returns of episodes"]


def test_a_comparison_of_one_task_has_strips_alone() -> None:
    view = comparison_view([("zeros", played(0)), ("ones", played(1))])
    assert [plot.title for plot in view.plots] == ["Returns of episodes"]
