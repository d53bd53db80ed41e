"""An environment that never reports success is judged by its mean return."""

from __future__ import annotations

from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from rich.console import Console
from scipy import stats

from reglue import Agent
from reglue.errors import UsageError
from reglue_bench import evaluate
from reglue_bench.formatting import number
from reglue_bench.measures.compare import compare
from reglue_bench.plots.curves import lines_of
from reglue_bench.plots.figures import Dots
from reglue_bench.report.page_contents import comparison_view
from reglue_bench.results.result import Result, read_result
from reglue_bench.results.scores import PerformanceScore, ReturnScore
from reglue_bench.statistics import student
from reglue_bench.terminal.summary import print_summary
from tests.error_facts import raises
from tests.reglue_bench.report.test_run_view import read

CART_POLE = "multi-task:gymnasium:CartPole-v1"


class Balances(Agent):
    """Pushes to where the pole leans, which it looks at `late` in a hundred times too late."""

    def __init__(self, late: int = 0) -> None:
        self.rng, self.late = np.random.default_rng(0), late

    def act(self, seen: Any) -> Any:
        _, speed, angle, spin = seen["observation"].T
        asked = (angle + 0.5 * spin + 0.01 * speed > 0).astype(np.int64)
        return np.where(self.rng.integers(100, size=len(asked)) < self.late, 1 - asked, asked)

    def agent_start(self, observations: Any, starts: Any) -> Any:
        return self.act(observations)

    def agent_step(self, rewards: Any, observations: Any, steps: Any) -> Any:
        return self.act(observations)


def balanced(late: int, **options: Any) -> Result:
    asked: dict[str, Any] = {"workers": 0, "slots": 4, "num_episodes": 8} | options
    return evaluate(CART_POLE, agent=Balances(late), **asked)


@pytest.fixture(scope="module")
def good() -> Result:
    return balanced(0)


@pytest.fixture(scope="module")
def poor() -> Result:
    return balanced(45)


def test_it_has_a_mean_return_and_no_success(good: Result, tmp_path: Path) -> None:
    assert good.score_as(ReturnScore).success is None
    assert good.mean_return == 500.0
    for result in (good, read_result(good.write(tmp_path).parent)):
        with raises(UsageError, good.benchmark, "mean return", "success"):
            _ = result.mean_success_rate


def test_the_interval_is_students_over_episodes(poor: Result) -> None:
    returns = [row.return_ for row in poor.episodes]
    half = stats.t.ppf(0.975, 7) * np.std(returns, ddof=1) / 8**0.5
    mean = np.mean(returns)
    intervals = poor.score_as(ReturnScore).intervals95
    assert intervals is not None
    assert intervals.mean == pytest.approx((mean - half, mean + half))


def test_the_interval_ends_at_the_least_return_that_is_possible(tmp_path: Path) -> None:
    """An episode of CartPole earns 1 or more; the same over runs that learn, and at each point."""
    result = evaluate("evaluate:gymnasium:CartPole-v1", agent="random", workers=0, num_episodes=2)
    assert result.parameters["worst_performance"] == 1
    assert result.interval95 is not None
    assert result.interval95[0] >= 1 > whole_low(result)
    learned = evaluate(
        "online:gymnasium:CartPole-v1", agent=Balances(50), workers=0, runs=2, episodes=3
    ).score_as(PerformanceScore)
    assert learned.interval95 is not None
    assert learned.interval95[0] >= 1
    assert all(low >= 1 for low, _ in learned.curve.interval95)
    assert all(low >= 1 for low, _ in lines_of(learned, lambda run: run.line, 1.0).intervals95)


def whole_low(result: Result) -> float:
    interval = student({"": np.array([row.return_ for row in result.episodes])}).interval95
    assert interval is not None
    return interval[0]


def test_success_is_mentioned_nowhere(good: Result, tmp_path: Path) -> None:
    out = StringIO()
    print_summary(Console(file=out, width=120), good)
    page = read(tmp_path, good).text
    assert "500.0" in out.getvalue()
    assert "500.0" in page
    assert "0.000" not in out.getvalue()
    explained = page.split("How to read this")[1]
    assert explained.count("success") == explained.count("reports success") == 1
    assert page.count("0.0 %") == page.count("steps (0.0 %)") == 1  # of clipped steps


def test_its_page_has_a_figure_of_the_return_per_task_with_its_interval(
    poor: Result, good: Result, tmp_path: Path
) -> None:
    [alone] = read(tmp_path, poor).figures.values()
    interval, dots = alone.marks
    intervals = poor.score_as(ReturnScore).intervals95
    assert intervals is not None
    low, high = intervals.per_task["CartPole-v1"] or (0.0, 0.0)
    assert dots.x == [poor.mean_return]
    assert interval.x[:2] == [low, high]
    both = read(tmp_path, poor, good).figures["compare-tasks"].marks
    assert [each.x for each in both if isinstance(each, Dots)] == [[poor.mean_return], [500.0]]


def test_the_table_has_columns_of_returns_alone(poor: Result) -> None:
    out = StringIO()
    print_summary(Console(file=out, width=120), poor)
    [headings] = [line for line in out.getvalue().splitlines() if "┃" in line]
    columns = [column.strip() for column in headings.split("┃")[1:-1]]
    assert columns == ["task", "episodes", "mean return", "95 % interval"]
    intervals = poor.score_as(ReturnScore).intervals95
    assert intervals is not None
    low, high = intervals.mean or (0.0, 0.0)
    assert out.getvalue().count(f"{number(low)} – {number(high)}") == 2  # the task's and the mean


def test_agents_are_compared_by_return_episode_by_episode(good: Result, poor: Result) -> None:
    found = compare(good, poor)
    one, other = ([row.return_ for row in each.episodes] for each in (good, poor))
    assert found.p_value == pytest.approx(stats.ttest_rel(one, other).pvalue)
    view = comparison_view([("poor", poor), ("good", good)])
    assert view.verdict.startswith("good has the highest mean return: better than poor")


class Leaves(Balances):
    """Fails at its 30th turn."""

    turns = 0

    def act(self, seen: Any) -> Any:
        self.turns += 1
        if self.turns == 30:
            return super().act(seen) + 7
        return super().act(seen)


def test_an_episode_that_was_left_is_worth_a_single_step(good: Result) -> None:
    asked: dict[str, Any] = {"workers": 0, "slots": 4, "num_episodes": 8}
    result = evaluate(CART_POLE, agent=Leaves(), raise_faults=False, **asked)
    lost = sum(n for status, n in result.status_counts.items() if status != "ok")
    assert lost > 0
    assert result.mean_return == pytest.approx((500.0 * (8 - lost) + 1.0 * lost) / 8)
