"""A run's episodes are read from its ledger; its score is in result.json."""

from __future__ import annotations

import gc
import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from reglue.errors import UsageError
from reglue_bench import Evaluator, evaluate
from reglue_bench.report.page import draw_report
from reglue_bench.results.episodes import Episodes
from reglue_bench.results.result import Result, read_result
from reglue_bench.results.scoring import in_temporary_folder, read_run
from reglue_bench.runs.ledger import Ledger
from tests.error_facts import raises
from tests.reglue_bench.agents import Seeded
from tests.reglue_bench.made_results import Play, make_result
from tests.reglue_bench.toys import corridor_plan, online_plan, play, rows

WORLD = "tests.worlds:Corridor"
CONFIG = {"solved": {"a": [1, 3, 0]}}


@pytest.mark.parametrize("procedure", ["multi-task", "meta-learning"])
def test_rows_are_in_the_order_of_units_and_cells(tmp_path: Path, procedure: str) -> None:
    result = play(tmp_path, corridor_plan(procedure), Seeded())
    found = [(row.unit, row.k) for row in result.episodes]
    assert found == sorted(set(found))
    assert len(found) > 0


def test_rows_say_what_was_played_and_what_came_of_it(tmp_path: Path) -> None:
    first, *_ = play(tmp_path, corridor_plan(), Seeded()).episodes
    assert (first.task, first.variant, first.repeat, first.phase) == ("a", 0, 0, "evaluate")
    assert (first.status, first.attempt, first.clipped, first.detail) == ("ok", 0, 0, "")


def test_episodes_of_a_run_that_learns_are_there_too(tmp_path: Path) -> None:
    by_episodes = play(tmp_path / "a", online_plan(runs=2, episodes=3), Seeded())
    assert [(row.unit, row.k, row.repeat) for row in by_episodes.episodes] == [
        (unit, k, k) for unit in range(2) for k in range(3)
    ]
    by_steps = play(tmp_path / "b", online_plan(runs=1, steps=12), Seeded())
    assert {row.phase for row in by_steps.episodes} == {"train"}
    assert sum(row.steps for row in by_steps.episodes) == 12


def test_result_json_holds_no_row(tmp_path: Path) -> None:
    result = play(tmp_path, corridor_plan(num_episodes=50), Seeded())
    few = play(tmp_path / "few", corridor_plan(num_episodes=3), Seeded())
    assert "episodes" not in json.loads((tmp_path / "result.json").read_text())
    sizes = [len(each.model_dump_json()) for each in (few, result)]
    assert sizes[1] < sizes[0] + 100  # of longer numbers


def test_a_result_has_its_rows_back_where_its_ledger_is_beside_it(tmp_path: Path) -> None:
    result = play(tmp_path, corridor_plan(), Seeded())
    assert read_result(tmp_path) == read_run(tmp_path) == result
    assert rows(read_result(tmp_path / "result.json")) == rows(result)


@pytest.fixture
def alone(tmp_path: Path) -> Path:
    """A result.json without its ledger."""
    return make_result(Play(tasks=["t"], goals=3)).write(tmp_path)


def test_a_result_without_its_ledger_shows_its_score(alone: Path) -> None:
    page = draw_report([("", read_result(alone))]).html
    assert "run-0-tasks" in page
    assert "run-0-goals" not in page


def test_what_needs_the_rows_says_that_the_ledger_is_missing(alone: Path) -> None:
    result = read_result(alone)
    named = ("expert on MT10", "episodes", "ledger.sqlite", "result.json")
    with raises(UsageError, *named):
        rows(result)
    with raises(UsageError, *named):
        draw_report([("one", result), ("other", make_result())])


def test_rows_outlast_the_evaluator_and_go_with_the_result() -> None:
    plan = f"multi-task:{WORLD}"
    with Evaluator(plan, workers=0, num_episodes=1, slots=1, environment_args=CONFIG) as evaluator:
        result = evaluator(Seeded())
    assert len(rows(result)) == 1
    folder = folder_of(result)
    assert folder.is_dir()
    copy = result.model_copy()
    del result
    gc.collect()
    assert len(rows(copy)) == 1
    del copy
    gc.collect()
    assert not folder.exists()


def test_a_run_without_a_folder_that_fails_leaves_nothing() -> None:
    folders: list[Path] = []

    def fails(folder: Path) -> Result:
        folders.append(folder)
        raise UsageError("no such agent")

    with raises(UsageError, "no such agent"):
        in_temporary_folder(fails)
    assert not folders[0].exists()


def test_rows_are_read_while_the_run_goes_on(tmp_path: Path) -> None:
    result = play(tmp_path, corridor_plan(), Seeded())
    with Ledger(tmp_path):
        assert rows(result) == rows(read_run(tmp_path))


def test_rows_are_read_one_after_another(tmp_path: Path) -> None:
    episodes = play(tmp_path, corridor_plan(), Seeded()).episodes
    assert isinstance(iter(episodes), Iterator)
    assert next(iter(episodes)) == next(iter(episodes))


def folder_of(result: Result) -> Path:
    assert isinstance(result.episodes, Episodes)
    return result.episodes.folder


def test_evaluate_keeps_rows_where_it_is_told_to(tmp_path: Path) -> None:
    plan, out = f"multi-task:{WORLD}", tmp_path / "run"
    result = evaluate(
        plan, agent=Seeded(), out=out, workers=0, num_episodes=1, slots=1, environment_args=CONFIG
    )
    assert folder_of(result) == tmp_path / "run"
