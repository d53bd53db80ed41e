"""Evaluations in a training loop."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from reglue.errors import NotAnEnvironment, UsageError
from reglue_bench import Evaluator, evaluate, read_result
from tests.error_facts import raises
from tests.leftovers import child_processes, nothing_left
from tests.reglue_bench.agents import Seeded
from tests.reglue_bench.toys import rows

NAME = "multi-task:tests.worlds:Corridor"
OPTIONS: dict[str, Any] = {
    "environment_args": {"solved": {"a": [1, 3, 0], "b": [5, 0, 2]}},
    "num_episodes": 3,
    "seed": 4,
    "slots": 2,
}


@pytest.mark.parametrize("workers", [0, 2])
def test_rows_are_those_of_evaluate(workers: int) -> None:
    """The first time and the next."""
    wanted = evaluate(NAME, agent=Seeded(), workers=workers, **OPTIONS)
    with nothing_left(), Evaluator(NAME, workers=workers, **OPTIONS) as evaluator:
        for _ in range(2):
            got = evaluator(Seeded())
            assert rows(got) == rows(wanted)
            assert (got.plan_sha256, got.steps) == (wanted.plan_sha256, wanted.steps)


def test_workers_are_started_once() -> None:
    with Evaluator(NAME, workers=2, **OPTIONS) as evaluator:
        before = child_processes()
        evaluator(Seeded())
        playing = child_processes() - before
        evaluator(Seeded())
        assert child_processes() - before == playing
        assert len(playing) == 2


def test_the_agent_is_played_where_it_is() -> None:
    """The very object, with what it holds."""
    agent = Seeded()
    agent.held = held = object()  # type: ignore[attr-defined]
    with Evaluator(NAME, workers=2, **OPTIONS) as evaluator:
        evaluator(agent)
    assert agent.held is held  # type: ignore[attr-defined]
    assert agent.spec.slots == 2


def test_after_a_fault_the_next_evaluation_is_whole() -> None:
    class Raises(Seeded):
        def agent_step(self, *_: Any) -> Any:
            raise KeyError("coffee")

    with nothing_left(), Evaluator(NAME, workers=2, **OPTIONS) as evaluator:
        ended = evaluator(Raises(), raise_faults=False).ended_early
        assert ended is not None
        assert ended.status == "agent_error"
        assert evaluator(Seeded()).complete


def test_a_run_can_be_kept(tmp_path: Path) -> None:
    with Evaluator(NAME, workers=0, **OPTIONS) as evaluator:
        result = evaluator(Seeded(), out=tmp_path / "run")
    assert read_result(tmp_path / "run") == result


@pytest.mark.parametrize("option", ["agent", "agent_cmd", "agent_args"])
def test_agents_that_are_started_are_for_evaluate(option: str) -> None:
    given: Any = {option: "expert"}
    with raises(UsageError, "evaluator(agent)", got=option):
        Evaluator(NAME, **given)


def test_a_name_is_no_agent_object() -> None:
    with (
        Evaluator(NAME, workers=0, **OPTIONS) as evaluator,
        raises(UsageError, "'expert'", "object"),
    ):
        evaluator("expert")


def test_environments_that_dial_in_are_for_evaluate() -> None:
    with raises(UsageError, "multi-task:wait", "evaluate"):
        Evaluator("multi-task:wait")


def test_a_closed_one_says_so_and_may_be_closed_again() -> None:
    with nothing_left():
        with Evaluator(NAME, workers=2, **OPTIONS) as evaluator:
            evaluator(Seeded())
        with raises(UsageError, "Evaluator", "closed"):
            evaluator(Seeded())
        evaluator.close()


def test_a_benchmark_has_a_name() -> None:
    nobody: Any = None
    with raises(NotAnEnvironment, None, "benchmark"):
        Evaluator(nobody)
