"""An author sees the frames of the author's own code, and no others."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

import reglue
from glue_server import Glue
from reglue.agents.agent import Policy, play
from reglue.errors import AgentFault, NotAnAgent
from reglue.messages.agent_messages import NO_ENDS, NO_STARTS, NO_STEPS, Phase, Turn
from reglue.tracebacks import authors_place, explained

TURN = Turn(Phase.TRAIN, NO_ENDS, NO_STEPS, NO_STARTS, np.zeros(0), {})


def frames_of(text: str) -> list[str]:
    return [line.split(" in ")[-1] for line in text.splitlines() if line.startswith("  File")]


def fails(seen: Any) -> Any:
    return inner(seen)


def inner(seen: Any) -> Any:
    scales: dict[str, float] = {}
    return seen / scales["scale"]


def tries(seen: Any) -> Any:
    try:
        return inner(seen)
    except KeyError as error:
        raise ValueError("no scale") from error


def turn_of(function: Any) -> Any:
    with Glue(environment="mountain-car", agent=function) as rl:
        rl.init()
        rl.start()


@pytest.mark.parametrize(
    ("function", "frames", "last"),
    [
        (fails, ["fails", "inner"], "KeyError: 'scale'"),
        (tries, ["tries", "inner", "tries"], "ValueError: no scale"),
    ],
)
def test_a_policy_that_raises_shows_its_own_frames(
    function: Any, frames: list[str], last: str, caplog: pytest.LogCaptureFixture
) -> None:
    with pytest.raises(AgentFault):
        turn_of(function)
    [record] = caplog.records
    said = record.getMessage()
    assert frames_of(said) == frames
    assert last in said.splitlines()[-2:]  # a note may follow


@pytest.mark.parametrize("answer", [None, np.zeros((1, 7)), ["left"]])
def test_an_answer_that_is_no_action_shows_none(
    answer: Any, caplog: pytest.LogCaptureFixture
) -> None:
    with pytest.raises(AgentFault):
        turn_of(lambda seen: answer)
    [record] = caplog.records
    said = record.getMessage()
    assert NotAnAgent.__name__ in said
    assert len(said.splitlines()) == 1


def test_an_error_of_our_own_keeps_its_frames() -> None:
    with pytest.raises(AttributeError) as raised:
        play(Policy(fails), TURN)
    error = raised.value
    assert error.__traceback__ is not None
    ours = error.with_traceback(error.__traceback__.tb_next)  # without the one of this test
    assert frames_of(explained(ours)) == ["play"]


@pytest.mark.parametrize(
    ("call", "place"),
    [
        (lambda: inner(0), "in inner"),
        (lambda: json.loads("{"), "in <lambda>"),  # Python's library runs for its caller
        (lambda: reglue.evaluate("no such benchmark", fails), ""),
    ],
)
def test_the_line_that_ran_is_an_authors_unless_it_was_ours(call: Any, place: str) -> None:
    with pytest.raises(Exception) as raised:  # noqa: PT011 - of three kinds
        call()
    told = authors_place(raised.value, besides="")
    assert told.rpartition(", ")[-1] == place
    assert told.startswith(__file__ if place else "")
