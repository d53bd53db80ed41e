"""Texts of unknown peers reach a terminal in the end, so control characters are removed."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from reglue.errors import AgentFault, EnvironmentFault, Refused, ReglueError, SessionLost
from reglue.v1 import agent_pb2, environment_pb2, session_pb2
from reglue.wire.agent_encoding import decode_call
from reglue.wire.environment_encoding import decode_environment_call
from reglue.wire.session_encoding import MOST_WORDS, decode_fault, decode_refusal, received_text

CASES: list[dict[str, Any]] = json.loads(
    (Path(__file__).parents[1] / "printable_words.json").read_text("utf-8")
)
"""The same in every language."""

EVIL = "\x1b[2J\x9b31m\x07evil\r\n\x1b]0;words"
CLEAN = "[2J31mevil\n]0;words"

WORDS: dict[str, Callable[[str], object]] = {
    "a farewell to an agent": lambda words: decode_call(
        agent_pb2.AgentCall(farewell=session_pb2.Farewell(reason=words)), None
    ),
    "a farewell to an environment": lambda words: decode_environment_call(
        environment_pb2.EnvironmentCall(farewell=session_pb2.Farewell(reason=words)), None
    ),
    "a refusal": lambda words: decode_refusal(session_pb2.Refusal(got=words, wanted=words)),
    "a fault": lambda words: decode_fault(session_pb2.Fault(what=words)),
}

ERRORS: list[Callable[[str], ReglueError]] = [Refused, SessionLost, AgentFault, EnvironmentFault]


@pytest.mark.parametrize("kind", WORDS)
def test_no_terminal_obeys_what_a_stranger_says(kind: str) -> None:
    heard = WORDS[kind](EVIL)
    assert heard == WORDS[kind](CLEAN)
    assert repr(CLEAN) in repr(heard)


@pytest.mark.parametrize("kind", WORDS)
def test_a_stranger_says_so_many_words(kind: str) -> None:
    assert WORDS[kind]("x" * 2 * MOST_WORDS) == WORDS[kind]("x" * MOST_WORDS)


@pytest.mark.parametrize("error", ERRORS)
def test_no_terminal_obeys_what_an_error_repeats(error: Callable[[str], ReglueError]) -> None:
    assert str(error(EVIL)) == CLEAN


@pytest.mark.parametrize("case", CASES, ids=[case["what"] for case in CASES])
def test_words_are_cut_and_lose_what_terminals_obey(case: dict[str, Any]) -> None:
    words, shown = case["told"] * case.get("times", 1), case["shown"] * case.get("shown_times", 1)
    assert received_text(words) == shown
    if "times" not in case:
        assert str(SessionLost(words)) == shown


def test_half_a_character_is_left_out() -> None:
    assert received_text("a\ud800b") == "ab"
