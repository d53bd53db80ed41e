"""The report page, read as a browser would read it."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from html.parser import HTMLParser
from pathlib import Path

import pytest

from reglue.errors import UsageError
from reglue_bench.formatting import sentence
from reglue_bench.plots.figures import SHADE, SUCCESS, Dots, Figure, Line, Rows, Squares
from reglue_bench.renderers import renderer
from reglue_bench.report.page import draw_report
from reglue_bench.results.facts import Event, FaultCount, Recorded
from reglue_bench.results.result import Result
from reglue_bench.results.scores import SuccessScore
from reglue_bench.runs.notes import Ending
from reglue_bench.terminal.summary import notes
from tests.error_facts import raises
from tests.reglue_bench.made_results import MT10, Play, make_result

HOSTILE = "<img src=x onerror=alert(1)></script><script>alert(1)</script>\"'%{x}"


class Page(HTMLParser):
    """The page as a browser reads it: its text, its elements, and labels of figures."""

    def __init__(self, html: str, figures: Mapping[str, Figure]) -> None:
        super().__init__()
        self.html = html
        self.figures = figures  # by the ids of their plots
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.labels: list[str] = []
        self.text = ""
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        tag, _ = self.elements[-1] if self.elements else ("", {})
        if tag == "text" and data.strip():
            self.labels.append(data)
        elif tag != "style":
            self.text += data


def read(folder: Path, *results: Result, names: Sequence[str] = ()) -> Page:
    """The page that is written for these results."""
    names = names or [f"runs/{place}" for place in range(len(results))]
    page = draw_report(list(zip(names, results, strict=True)))
    html = page.write(folder / "report.html").read_text(encoding="utf-8")
    return Page(html, {plot.id: plot.figure for plot in page.plots if plot.figure.marks})


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Page:
    """The page of one whole run."""
    return read(tmp_path_factory.mktemp("one"), make_result())


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> Page:
    """The page of two."""
    return read(tmp_path_factory.mktemp("two"), *two())


def two() -> list[Result]:
    return [make_result(), make_result(Play(label="other", rate=0.5))]


def test_one_run_is_told_by_its_score_interval_and_what_was_run(tmp_path: Path) -> None:
    result = make_result(Play(label="my_agent"))
    page = read(tmp_path, result)
    assert result.interval95 is not None
    low, high = result.interval95
    for wanted in (
        "my_agent on MT10",
        f"{100 * result.mean_success_rate:.1f} %",
        f"{100 * low:.1f} to {100 * high:.1f} %",
        "multi-task",
        "5e5e5e5e5e5e",
        "mujoco 3.3.0",
        "How to read this",
        "The unit is the goal, since episodes of one goal rise and fall together",
    ):
        assert wanted in page.text
    assert ">complete<" in page.html


def test_one_run_has_no_comparison(page: Page) -> None:
    assert "Compared with" not in page.text
    assert "Holm" not in page.text


def test_every_task_stands_in_the_plots_and_their_tables(page: Page) -> None:
    assert list(page.figures) == ["run-0-tasks", "run-0-goals", "run-0-steps"]
    for figure in page.figures.values():
        assert isinstance(figure.y, Rows)
        assert figure.y.labels == MT10
    for task in MT10:
        assert page.text.count(task) == 3
        assert page.labels.count(task) == 2 * 3  # at two widths


def test_a_partial_run_says_so_and_names_its_faults_in_words(tmp_path: Path) -> None:
    result = make_result(Play(faulty=0.2, missing=40))
    page = read(tmp_path, result)
    text = page.text
    assert "40 missing, of 500 episodes; each counts as a failure" in text
    assert f"{100 * result.score_as(SuccessScore).completed_only.mean_success_rate:.1f} %" in text
    assert "the agent did not answer in time" in text
    assert ">complete<" not in page.html


@pytest.mark.parametrize(
    ("play", "badge"),
    [
        (Play(), "complete"),
        (Play(faulty=0.2), "fault"),
        (Play(missing=40), "partial"),
        (Play(faulty=0.2, missing=40), "partial, "),
    ],
)
def test_one_badge_says_how_a_run_went(tmp_path: Path, play: Play, badge: str) -> None:
    [told] = re.findall(r'class="badge \w+">([^<]+)<', read(tmp_path, make_result(play)).html)
    assert badge in told
    assert ("complete" in told) == (badge == "complete")


def test_what_ended_a_run_early_is_told(tmp_path: Path) -> None:
    ending = Ending(status="agent_timeout", what="the agent did not answer within 60 s\nits log")
    result = make_result(Play(missing=20)).model_copy(update={"ended_early": ending})
    assert (
        "Ended early, agent_timeout: the agent did not answer within 60 s"
        in read(tmp_path, result).text
    )


def test_where_a_run_was_played_and_what_befell_it_are_told(tmp_path: Path) -> None:
    what = "a process on m2, CPU died, and another plays what is left of its units"
    more = {
        "machines": ["m1, CPU", "m2, CPU"],
        "environments_on": ["m3, CPU"],
        "events": [Event(what=what, count=2)],
    }
    result = make_result(Play()).model_copy(update=more)
    text = read(tmp_path, result).text
    assert f"2 × {what}." in text
    assert "m1, CPU; m2, CPU" in text
    assert "m3, CPU" in text
    assert f"2 × {what}" in notes(result)
    assert "played on m1, CPU; m2, CPU" in notes(result)


def test_the_page_and_the_terminal_have_the_same_notes(tmp_path: Path) -> None:
    more = {
        "privileged": ["task names"],
        "defaulted_steps": 3,
        "episodes_retried": 2,
        "recorded": Recorded(episodes=7, lost=2),
        "events": [Event(what="a process died", count=1)],
        "faults": [FaultCount(status="agent_error", detail="KeyError: coffee", count=4)],
        "ended_early": Ending(status="agent_timeout", what="too late"),
    }
    result = make_result(Play(missing=20)).model_copy(update=more)
    of_both = [*renderer.notes(result)]
    assert len(of_both) == 1 + len(more) + 1  # what is missing, and which flags set the time
    text = read(tmp_path, result).text
    assert all(sentence(note) in text for note in of_both)
    assert notes(result)[-len(of_both) :] == of_both


def test_a_fault_of_a_goal_is_crossed_out_on_the_map(tmp_path: Path) -> None:
    result = make_result(Play(faulty=0.2))
    *squares, crosses = read(tmp_path, result).figures["run-0-goals"].marks
    assert isinstance(crosses, Line)
    assert len(crosses.x) == 6 * sum(row.status != "ok" for row in result.episodes)
    solved = next(each for each in squares if each.colour == SUCCESS)
    assert len(solved.x) == sum(row.success for row in result.episodes)


def not_played(page: Page) -> Sequence[float]:
    """The columns of squares on the map that stand for nothing."""
    [squares] = [each for each in page.figures["run-0-goals"].marks if each.colour == SHADE]
    assert isinstance(squares, Squares)
    return squares.x


def test_goals_that_were_never_reached_keep_their_place_on_the_map(tmp_path: Path) -> None:
    page = read(tmp_path, make_result(Play(tasks=["reach-v3"], goals=10, missing=4)))
    assert not_played(page) == [6, 7, 8, 9]


def test_a_privileged_run_is_marked_with_what_it_was_told(tmp_path: Path) -> None:
    text = read(tmp_path, make_result(Play(privileged=["task names"]))).text
    assert "not ranked: the agent was told the task names" in text


def test_adaptation_is_shown_where_it_was_measured(tmp_path: Path, page: Page) -> None:
    play = Play(benchmark="ML1", tasks=["reach-v3"], goals=40, rate=0.8, rate_before=0.1)
    adapted = make_result(play)
    rates = adapted.score_as(SuccessScore).before_adaptation
    assert rates is not None
    _, before, after = read(tmp_path, adapted).figures["run-0-adaptation"].marks
    assert isinstance(before, Dots)
    assert (before.shape, before.x) == ("ring", [rates.mean_success_rate])
    assert after.x == [adapted.mean_success_rate]
    assert "Before and after adaptation" not in page.text


def test_an_agent_that_never_came_has_a_report(tmp_path: Path) -> None:
    page = read(tmp_path, make_result(Play(missing=500)))
    assert "0.0 %" in page.text
    assert len(not_played(page)) == 500


def test_more_tasks_make_a_higher_plot(tmp_path: Path, page: Page) -> None:
    many = read(tmp_path, make_result(Play(tasks=[f"task-{n}" for n in range(50)], goals=5)))
    few, high = (re.findall(r'viewBox="0 0 860 (\d+)', each.html)[0] for each in (page, many))
    assert int(high) > 2 * int(few)


def test_a_hostile_name_is_text_and_nothing_else(tmp_path: Path) -> None:
    tasks = [HOSTILE, *MT10]
    one = make_result(Play(label=HOSTILE, tasks=tasks, privileged=[HOSTILE], training_seed=0))
    two = make_result(Play(label=HOSTILE, tasks=tasks, rate=0.5, training_seed=1))
    page = read(tmp_path, one, two, names=[HOSTILE, "two" + HOSTILE])
    assert HOSTILE in page.text
    assert f"{HOSTILE[:31]}…" in page.labels
    assert {tag for tag, _ in page.elements}.isdisjoint({"script", "img", "iframe", "a", "link"})
    assert not any(name.startswith("on") for _, attrs in page.elements for name in attrs)


@pytest.mark.parametrize("name", ["$x$", "a < b & c > d", "中文", "&lt;b&gt;", "a" * 32, "\\alpha"])
def test_a_name_stands_in_figures_as_it_is(tmp_path: Path, name: str) -> None:
    page = read(tmp_path, make_result(Play(tasks=[name])))
    assert page.labels.count(name) == 2 * 3


def test_letters_that_html_lacks_are_replaced_in_figures(tmp_path: Path) -> None:
    labels = read(tmp_path, make_result(Play(tasks=["a\x1b[31m\u202eb\nc"]))).labels
    assert "a�[31m�b�c" in labels


def test_the_page_needs_neither_network_nor_scripts(page: Page) -> None:
    policy = next(str(attrs["content"]) for _, attrs in page.elements if "http-equiv" in attrs)
    assert policy.startswith("default-src 'none'; style-src 'unsafe-inline'; img-src data:;")
    assert "<script" not in page.html.lower()
    links = [attrs["href"] for _, attrs in page.elements if "href" in attrs]
    assert all(str(link).startswith("#") for link in links)
    assert not any("src" in attrs for _, attrs in page.elements)


def test_a_page_is_small(page: Page) -> None:
    assert len(page.html.encode()) < 100_000


@pytest.mark.slow
def test_a_page_of_25_runs_is_below_a_megabyte(tmp_path: Path) -> None:
    """Of five algorithms with five training seeds each, on MT10, with maps of many colours."""
    runs = [
        make_result(Play(label=f"agent-{n}", training_seed=seed, seed=5 * n + seed, rate=0.7))
        for n in range(5)
        for seed in range(5)
    ]
    assert len(read(tmp_path, *runs).html.encode()) < 1_000_000


def test_texts_of_figures_have_no_colour_but_that_of_the_style_sheet(page: Page) -> None:
    """It differs on a light and on a dark page."""
    texts = [attrs for tag, attrs in page.elements if tag == "text"]
    assert texts
    assert not any({"style", "fill"} & attrs.keys() for attrs in texts)
    assert ".plot text { fill: var(--quiet);" in page.html
    assert ".plot text.row { fill: var(--ink); }" in page.html
    assert any(attrs.get("class") == "row" for attrs in texts)
    assert "prefers-color-scheme: dark" in page.html


def test_columns_of_runs_are_named_at_each_cell_for_narrow_screens(both: Page) -> None:
    columns = [attrs["data-column"] for _, attrs in both.elements if "data-column" in attrs]
    assert columns == 2 * ["success", "Δ to the first", "p, Holm"]


def test_a_run_without_success_has_no_plot_of_steps_to_success(tmp_path: Path) -> None:
    page = read(tmp_path, make_result(Play(rate=-1)))
    assert list(page.figures) == ["run-0-tasks", "run-0-goals"]


def test_clipped_actions_are_a_share_of_the_steps(tmp_path: Path) -> None:
    result = make_result()
    steps = result.steps.counted
    page = read(tmp_path, result.model_copy(update={"clipped_steps": steps}))
    assert f"in {steps:,} of {steps:,} steps (100.0 %)" in page.text
    assert "the agent may use another scale" in page.text


def test_every_id_on_the_page_is_there_once(both: Page) -> None:
    ids = [attrs["id"] for _, attrs in both.elements if "id" in attrs]
    assert len(ids) == len(set(ids))


def test_the_same_results_give_the_same_bytes(tmp_path: Path, both: Page) -> None:
    assert read(tmp_path, *two()).html == both.html


def test_a_report_of_nothing_is_refused(tmp_path: Path) -> None:
    with raises(UsageError, got="no results"):
        draw_report([])
