"""Observations outside of their bounds are passed on, and a run tells how many there were."""

from __future__ import annotations

import json
import logging
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from glue_server import Outcome
from reglue_bench import evaluate
from reglue_bench.benchmark.benchmark import suite_of
from reglue_bench.engines.run_environments import make_environment
from reglue_bench.evaluation import resume, start
from reglue_bench.report.page import draw_report
from reglue_bench.results.facts import Event
from reglue_bench.results.result import Result, read_result
from reglue_bench.results.scoring import read_run
from reglue_bench.runs.observer import NullObserver
from reglue_bench.runs.run import Request
from reglue_bench.runs.run_session import OUTSIDE
from reglue_bench.settings import Settings
from reglue_bench.terminal.summary import notes
from tests.leftovers import nothing_left
from tests.reglue_bench.agents import Seeded
from tests.reglue_bench.remote import dialling
from tests.reglue_bench.toys import AGENTS, Interrupts, corridor_plan, joining, play

pytestmark = pytest.mark.slow

EPISODES = 8  # of 5 steps; of their observations 4 are outside
PLAN = corridor_plan(
    suite="tests.worlds:Narrow", solved={"a": [0, 0], "b": [0, 0]}, num_episodes=4, agents=2
)


def counts(result: Result) -> list[int]:
    """Of the one event that these runs may have."""
    assert {each.what for each in result.events} <= {OUTSIDE}
    return [each.count for each in result.events]


@pytest.mark.parametrize(
    "settings",
    [
        {"agent": Seeded(), "workers": 0},
        {"agent": Seeded(), "workers": 2},
        {"agent_cmd": joining("Seeded"), "processes": 2},
    ],
    ids=["here", "workers", "processes"],
)
def test_they_are_counted_wherever_they_are_looked_at(
    tmp_path: Path, settings: dict[str, Any]
) -> None:
    result = play(tmp_path, PLAN, **settings)
    assert result.steps.counted == 5 * EPISODES
    assert result.events == [Event(what=OUTSIDE, count=4 * EPISODES)]
    assert read_run(tmp_path).events == read_result(tmp_path).events == result.events
    line = f"{4 * EPISODES} × {OUTSIDE}"
    assert line in notes(result)
    page = draw_report([("run", result)]).write(tmp_path / "page.html")
    assert line in page.read_text(encoding="utf-8")


def test_the_check_at_the_end_does_not_log_them_again(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """It plays an episode of the run twice."""
    with caplog.at_level(logging.WARNING, "reglue"):
        result = play(tmp_path, PLAN, agent=Seeded(), workers=0)
    assert result.repeats[0].repeatable
    assert [each.args[1] for each in caplog.records if each.args] == [1, 10]  # type: ignore[index]


def test_those_of_an_environment_that_connects_are_counted() -> None:
    solved = json.dumps({"a": [0, 0], "b": [0, 0]})
    with nothing_left(), dialling("tests.worlds:Narrow", f"solved={solved}") as (watcher, _):
        result = evaluate(
            "multi-task:wait", agent=Seeded(), num_episodes=4, slots=2, watcher=watcher
        )
    assert result.steps.counted == 5 * EPISODES
    assert counts(result) == [4 * EPISODES]


def test_where_there_are_none_nothing_is_said(tmp_path: Path) -> None:
    assert play(tmp_path, corridor_plan(), Seeded()).events == []


def test_those_of_all_sessions_are_counted(tmp_path: Path) -> None:
    first = play(tmp_path, PLAN, f"{AGENTS}:Seeded", watcher=Interrupts(EPISODES // 2))
    assert first.ended_early is not None
    [before] = counts(first)
    assert before >= 4 * EPISODES // 2
    result = resume(tmp_path, NullObserver())
    assert result.complete
    [after] = counts(result)
    assert after - before == 4 * (EPISODES - first.coverage.cells_completed)


def test_those_of_earlier_runs_in_an_environment_are_not_counted_again(tmp_path: Path) -> None:
    asked = Settings(benchmark=PLAN.benchmark)
    with closing(make_environment(suite_of(PLAN, asked), PLAN.slots, workers=0)) as environment:
        request = Request(asked, PLAN, agent=Seeded(), environment=environment)
        results = [start(tmp_path / name, request, NullObserver()) for name in "ab"]
    assert [counts(result) for result in results] == [[4 * EPISODES]] * 2


def test_a_run_that_goes_on_tells_of_a_tenth_of_them(tmp_path: Path) -> None:
    """As one that was killed does."""

    class Reads(NullObserver):
        told: list[int]

        def outcome(self, outcome: Outcome, phase: str) -> None:
            self.told = counts(read_run(tmp_path))

    watcher = Reads()
    play(tmp_path, PLAN, Seeded(), watcher=watcher)
    assert watcher.told[0] >= 4 * EPISODES / 10
