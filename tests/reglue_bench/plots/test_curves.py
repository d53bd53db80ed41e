"""The report of agents that learn, read as a browser would read it."""

from __future__ import annotations

import math
from itertools import pairwise
from pathlib import Path

import pytest

from reglue.errors import UsageError
from reglue_bench.formatting import signed, value, values
from reglue_bench.plots.curves import lines_of
from reglue_bench.plots.figures import Area, Axis, Line
from reglue_bench.plots.learning_plots import PlottedScore, learning_plots
from reglue_bench.results.learning import t_interval95
from reglue_bench.results.result import Result
from reglue_bench.results.scores import PerformanceScore
from tests.error_facts import raises
from tests.reglue_bench.learning_results import Learned, learned
from tests.reglue_bench.made_results import make_result
from tests.reglue_bench.report.test_run_view import HOSTILE, Page, read


def score_of(result: Result) -> PerformanceScore:
    return result.score_as(PerformanceScore)


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Page:
    """The page of one agent."""
    return read(tmp_path_factory.mktemp("one"), learned())


@pytest.fixture(scope="module")
def compared(tmp_path_factory: pytest.TempPathFactory) -> Page:
    """The page of three."""
    return read(tmp_path_factory.mktemp("three"), *three(), names=["sarsa", "fast", "poor"])


def test_an_agent_is_told_by_its_performance_its_interval_and_how_many_runs(
    tmp_path: Path,
) -> None:
    result = learned(Learned(label="my_agent"))
    online = score_of(result)
    text = read(tmp_path, result).text
    assert online.performance is not None
    assert online.interval95 is not None
    for wanted in (
        "my_agent on corridor",
        value(online.performance),
        values(online.interval95),
        "mean return over all 60 episodes of a run, mean over 10 runs",
        "10 of 10 completed, 60 episodes each",
        "each run has an agent process of its own",
        "Student's t over runs",
    ):
        assert wanted in text
    assert "Success." not in text


def test_there_is_a_curve_the_length_of_episodes_and_every_run(page: Page) -> None:
    assert list(page.figures) == ["run-0-curve", "run-0-steps", "run-0-runs"]


def test_the_curve_has_a_line_a_run_a_band_and_the_mean(page: Page) -> None:
    online = score_of(learned())
    _, band, mean = page.figures["run-0-curve"].marks
    assert optional(page, "run-0-curve") == [run.line for run in online.runs]
    assert mean.y == pytest.approx(online.curve.mean)
    highs = [high for _, high in online.curve.interval95]
    assert isinstance(band, Area)
    assert band.high == pytest.approx(highs)


def optional(page: Page, plot: str, *, dotted: bool = False) -> list[list[float]]:
    """The lines that a box hides, which are one with gaps between them."""
    lines: list[list[float]] = []
    for mark in page.figures[plot].marks:
        if isinstance(mark, Line) and mark.optional and mark.dotted == dotted:
            gaps = [place for place, each in enumerate(mark.y) if math.isnan(each)]
            lines += [[*mark.y[a + 1 : b]] for a, b in pairwise([-1, *gaps])]
    return lines


def test_a_box_shows_and_hides_the_lines_of_single_runs(page: Page, compared: Page) -> None:
    """The style sheet does, by the class of the lines."""
    for each, is_shown in ((page, True), (compared, False)):
        boxes = [attrs for tag, attrs in each.elements if tag == "input"]
        assert ["checked" in attrs for attrs in boxes[:2]] == [is_shown] * 2
    lines = [tag for tag, attrs in page.elements if attrs.get("class") == "optional"]
    assert lines == ["path"] * 2 * 2  # of two plots at two widths
    assert ":has(.toggle input:not(:checked)) .optional { display: none; }" in page.html


@pytest.mark.slow
def test_a_page_of_25_agents_that_learn_is_below_a_megabyte(tmp_path: Path) -> None:
    """The lines of all runs are on it, but not in the plots of all agents together."""
    agents = [learned(Learned(label=f"{n}", pace=3 + n, runs=5, seed=n)) for n in range(25)]
    page = read(tmp_path, *agents)
    assert len(page.html.encode()) < 1_000_000
    assert len(optional(page, "compare-curve")) == 50
    assert len(optional(page, "run-24-curve")) == 5
    assert "lines of some runs" in page.text


def test_many_episodes_are_averaged_some_at_a_time() -> None:
    online = score_of(learned(Learned(episodes=1001, runs=3)))
    lines = lines_of(online, lambda run: run.line)
    assert len(lines.ends) == 167
    assert (lines.at(0), lines.at(166)) == ("episodes 1–6", "episodes 997–1,001")
    assert lines.whole[1, 0] == pytest.approx(sum(online.runs[1].line[:6]) / 6)
    assert lines.intervals95[5] == pytest.approx(t_interval95(lines.whole[:, 5]))


def test_runs_of_steps_show_reward_per_step(tmp_path: Path) -> None:
    page = read(tmp_path, learned(Learned(steps=5000, pace=500)))
    assert list(page.figures) == ["run-0-curve", "run-0-runs"]
    assert "mean reward per step over all 5,000 steps of a run" in page.text
    assert page.figures["run-0-curve"].x.label == "step"


def test_lengths_that_shrink_a_lot_are_drawn_on_a_logarithmic_axis(tmp_path: Path) -> None:
    far = read(tmp_path, learned(Learned(worst=-3000))).figures["run-0-steps"].y
    near = read(tmp_path, learned(Learned(worst=-200, noise=1))).figures["run-0-steps"].y
    assert [isinstance(each, Axis) and each.scale for each in (far, near)] == ["log", "linear"]


def test_lost_runs_are_told_listed_and_drawn_as_far_as_they_went(tmp_path: Path) -> None:
    page = read(tmp_path, learned(Learned(lost=(2,), missing=1)))
    assert "no score" in page.text
    assert "no worst performance is known" in page.text
    assert "1 of 10 runs not played" in page.text
    assert "The 8 completed runs alone" in page.text
    assert "the agent did not answer in time" in page.text
    assert "not in the mean" in page.text
    [lost] = optional(page, "run-0-curve", dotted=True)
    assert len(lost) == 30


@pytest.mark.parametrize(
    "what", [Learned(missing=10), Learned(runs=1), Learned(runs=1, lost=(0,)), Learned(noise=0)]
)
def test_few_runs_have_a_report_too(tmp_path: Path, what: Learned) -> None:
    assert "Every run" in read(tmp_path, learned(what)).text


def test_where_no_run_was_completed_there_is_a_table_and_no_empty_axis(tmp_path: Path) -> None:
    page = read(tmp_path, learned(Learned(missing=10)))
    assert page.figures == {}
    assert "Every run" in page.text
    assert ("details", {"open": None}) in page.elements


def test_the_thin_line_the_bold_line_and_the_band_are_explained(page: Page, compared: Page) -> None:
    legend = "A thin line is one run, the bold line the mean over runs, the band its 95 % interval."
    assert page.text.count(legend) == 1
    # One for each of the two agents with a score, one for the table.
    assert compared.text.count(legend) == 3


def test_the_numbers_of_every_run_stand_in_a_table(page: Page) -> None:
    for run in score_of(learned()).runs:
        assert run.performance is not None
        assert value(run.performance) in page.text
    assert page.text.count("played to its end") == 10


# Several agents.


def three() -> list[Result]:
    return [
        learned(Learned(label="sarsa", fault=-60_000.0)),
        learned(Learned(label="fast", pace=3.0, seed=1, fault=-60_000.0)),
        learned(Learned(label="poor", best=-400.0, seed=2, lost=(1,), fault=-60_000.0)),
    ]


def test_agents_are_compared_with_the_first(compared: Page) -> None:
    first, second = (score_of(result).performance for result in three()[:2])
    assert first is not None
    assert second is not None
    for words in (
        "3 agents on corridor",
        signed(second - first),
        "paired t-test",
        "9 of 10 runs",
        "1 of 10 runs ended by the agent's own fault",
    ):
        assert words in compared.text


def test_curves_are_overlaid(compared: Page) -> None:
    assert len(means(compared)) == 3
    assert "compare-runs" in compared.figures


def means(page: Page) -> list[Line]:
    """The bold lines of the curves."""
    marks = page.figures["compare-curve"].marks
    return [each for each in marks if isinstance(each, Line) and not each.optional]


def test_a_table_has_the_completed_runs_of_each_agent() -> None:
    """How many there are, and the worst, the middle and the best."""
    poor, none = learned(Learned(runs=4, lost=(1,))), learned(Learned(runs=1, lost=(0,)))
    agents = [PlottedScore(name, score_of(of), "#000") for name, of in (("a", poor), ("b", none))]
    table = learning_plots(agents, prefix="some")[-1].table
    assert table is not None
    low, middle, high = sorted(run.performance or 0.0 for run in score_of(poor).completed)
    assert table.columns == ["agent", "completed runs", "worst", "median", "best"]
    assert table.rows == [["a", "3", value(low), value(middle), value(high)], ["b", "0", *"–––"]]


def test_agents_that_measure_other_things_stand_side_by_side(tmp_path: Path) -> None:
    runs = [learned(), learned(Learned(episodes=50, label="short"))]
    page = read(tmp_path, *runs, names=["long", "short"])
    assert "short and long did not measure the same" in page.text
    assert len(means(page)) == 1


def test_an_agent_without_a_score_is_named(tmp_path: Path) -> None:
    text = read(
        tmp_path, *three()[:2], learned(Learned(runs=1, lost=(0,))), names=["a", "b", "c"]
    ).text
    assert "c has no score, and is not compared" in text
    assert "did not measure the same" not in text


def test_agents_that_learn_alike_lead_together(tmp_path: Path) -> None:
    poor, fast, _ = three()
    text = read(tmp_path, poor, fast, fast, names=["a", "b", "c"]).text
    assert "b and c, alike on every run, have the highest performance" in text
    assert "5 runs cannot" not in text


def test_a_report_is_of_learning_or_of_judging(tmp_path: Path) -> None:
    with raises(UsageError, "MT10", "success", "corridor", "performance"):
        read(tmp_path, learned(), make_result())


def test_a_hostile_name_is_text_and_nothing_else(tmp_path: Path) -> None:
    one, two = learned(Learned(label=HOSTILE)), learned(Learned(label=HOSTILE, seed=1))
    page = read(tmp_path, one, two, names=[HOSTILE, HOSTILE])
    assert HOSTILE in page.text
    assert f"{HOSTILE[:31]}…" in page.labels
    assert {tag for tag, _ in page.elements}.isdisjoint({"script", "img", "iframe", "a", "link"})


def test_every_id_on_the_page_is_there_once(compared: Page) -> None:
    ids = [attrs["id"] for _, attrs in compared.elements if "id" in attrs]
    assert len(ids) == len(set(ids))


def test_the_same_results_give_the_same_bytes(tmp_path: Path, compared: Page) -> None:
    again = read(tmp_path, *three(), names=["sarsa", "fast", "poor"])
    assert again.html == compared.html
