"""Summaries of runs in which little was played."""

from __future__ import annotations

from io import StringIO

import pytest
from rich.console import Console

from reglue_bench.formatting import milliseconds
from reglue_bench.results.result import Result
from reglue_bench.runs.notes import Ending
from reglue_bench.terminal.summary import notes, print_summary
from tests.reglue_bench.made_results import Play, make_result


def printed(result: Result) -> str:
    out = StringIO()
    print_summary(Console(file=out, width=100), result)
    return out.getvalue()


def test_where_nothing_was_played_there_is_no_table() -> None:
    assert "┏" in printed(make_result(Play(goals=3)))
    assert "┏" not in printed(make_result(Play(tasks=["t"], goals=3, missing=3)))


@pytest.mark.parametrize(
    ("seconds", "words"), [(0.1304, "130 ms"), (0.01, "10 ms"), (0.00042, "0.42 ms")]
)
def test_milliseconds_have_no_exponent(seconds: float, words: str) -> None:
    assert milliseconds(seconds) == words


def test_a_run_without_a_completed_episode_tells_no_success_rate() -> None:
    result = make_result(Play(tasks=["t"], goals=3, missing=3))
    [line] = [each for each in notes(result) if each.startswith("PARTIAL")]
    assert line.endswith("and none was completed")


def test_where_no_episode_told_of_success_the_way_to_say_so_is_told() -> None:
    def hints(result: Result) -> list[str]:
        return [line for line in notes(result) if "set tells_success = False" in line]

    never = make_result(Play(tasks=["walk"], rate=-1.0))
    assert len(hints(never)) == 1
    assert not hints(make_result(Play(tasks=["walk"], rate=0.5)))
    assert not hints(never.model_copy(update={"parameters": {"judged_by": "return"}}))
    assert not hints(never.model_copy(update={"parameters": {"goal_visible": True}}))  # Meta-World


def test_how_it_ended_is_said_once() -> None:
    assert str(Ending(status="interrupted", what="interrupted; the run can be resumed")) == (
        "interrupted; the run can be resumed"
    )
    assert str(Ending(status="agent_error", what="KeyError: coffee")) == (
        "agent_error: KeyError: coffee"
    )


def test_a_time_out_names_the_flags_that_set_it() -> None:
    late = Ending(status="agent_timeout", what="the agent did not answer within 60 s")
    result = make_result(Play(goals=3)).model_copy(update={"ended_early": late})
    assert "--step-timeout" in printed(result)


@pytest.mark.parametrize(("clipped", "lines"), [(0, 0), (1, 1), (25, 1), (26, 1), (50, 1)])
def test_clipped_actions_are_told_once(clipped: int, lines: int) -> None:
    made = make_result(Play(goals=3))
    result = made.model_copy(
        update={
            "clipped_steps": clipped,
            "steps": made.steps.model_copy(update={"counted": 50}),
        }
    )
    assert sum("clipped" in line for line in notes(result)) == lines
