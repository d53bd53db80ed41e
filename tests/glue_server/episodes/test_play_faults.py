"""Somebody is at fault: whose episodes end, and how."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from glue_server import EpisodeRunner, Outcome
from glue_server.agent.agent_port import MoreTime
from reglue import Agent, EndKind, Phase, Step
from reglue.errors import AgentFault, AgentTimeout
from reglue.messages.agent_messages import UNLIMITED, Actions, Budget, Reply, RoutineDone, Turn
from reglue.spec import Arrays
from tests.error_facts import raises
from tests.glue_server.playing import (
    PATIENT,
    Follower,
    Scripted,
    Told,
    by_k,
    cell,
    corridor_pool,
    glue_of,
    in_turn,
    local,
    still,
)
from tests.worlds import Corridor, Faulty, Walk

LONG = [cell(variant=2)] * 3  # five steps each


def played_by(
    answer: Any, slots: int = 2, wanted: Sequence[Any] = LONG
) -> tuple[list[Outcome], Told]:
    glue, port = glue_of(Scripted(answer), corridor_pool(slots))
    return by_k(glue.play(in_turn(wanted), Phase.EVALUATE)), port


def first_step(turn: Any) -> bool:
    """Whether both episodes have just taken their first step."""
    seen = turn.observations["observation"]
    return len(turn.steps) == 2 and bool((seen[:2, 0] == 1).all())


# Answers that are not legal.


def nan_in_slot_0(turn: Any) -> Any:
    actions = still(turn)
    if first_step(turn):
        actions[0] = np.nan
    return actions


def test_a_nan_ends_its_own_episode_and_play_goes_on() -> None:
    rows, _ = played_by(nan_in_slot_0)
    assert [(row.status, row.steps) for row in rows] == [
        ("agent_error", 1),
        ("ok", 5),
        ("ok", 5),
    ]


def test_the_agent_is_told_once_why_its_answer_was_refused() -> None:
    _, port = played_by(nan_in_slot_0)
    assert port.refusals == ["NOT_FINITE"]


def test_a_row_at_fault_says_why() -> None:
    rows, _ = played_by(nan_in_slot_0)
    assert rows[0].detail == "got 'action' = [nan], wanted finite numbers"


def test_the_slot_of_an_episode_at_fault_is_free_at_once() -> None:
    agent = Scripted(nan_in_slot_0)
    glue, _ = glue_of(agent, corridor_pool(2))
    list(glue.play(in_turn(LONG), Phase.EVALUATE))
    assert agent.turns[2].starts.slots.tolist() == [0]


def test_no_end_is_told_for_an_episode_that_the_agents_error_ended() -> None:
    agent = Scripted(nan_in_slot_0)
    glue, _ = glue_of(agent, corridor_pool(2))
    list(glue.play(in_turn(LONG[:2]), Phase.EVALUATE))
    assert agent.ends == [(1, EndKind.TRUNCATED)]


class Answering(Told):
    """A port whose agent answers its second turn with `reply`."""

    def __init__(self, agent: Agent, reply: Reply | Exception) -> None:
        super().__init__(agent)
        self._turns = 0
        self._other = reply

    def send(self, call: Any, budget: Budget = UNLIMITED) -> None:
        self._turns += isinstance(call, Turn)
        super().send(call, budget)

    def receive(self, timeout_s: float, more_s: MoreTime | None = None) -> Reply:
        reply = super().receive(timeout_s)
        if self._turns != 2:
            return reply
        if isinstance(self._other, Exception):
            raise self._other
        return self._other


@pytest.mark.parametrize(
    ("reply", "code"),
    [
        (RoutineDone(), "WRONG_KIND"),
        (Actions({"action": np.zeros((3, 1), np.float32)}), "WRONG_SIZE"),
    ],
)
def test_an_answer_that_does_not_fit_ends_every_episode_of_its_turn(
    reply: Reply, code: str
) -> None:
    port = Answering(Follower(), reply)
    glue = EpisodeRunner(port, corridor_pool(2), timeouts=PATIENT)
    glue.init()
    rows = by_k(glue.play(in_turn(LONG), Phase.EVALUATE))
    assert [(row.status, row.steps) for row in rows] == [
        ("agent_error", 1),
        ("agent_error", 1),
        ("ok", 5),
    ]
    assert port.refusals == [code]


# An agent that is lost.


def test_episodes_in_play_end_as_the_agents_fault_before_it_is_raised() -> None:
    class Falling(Follower):
        def agent_step(self, *_: Any) -> Any:
            raise ZeroDivisionError("no slope")

    glue, _ = glue_of(Falling(), corridor_pool(2))
    play_on = glue.play(in_turn(LONG), Phase.EVALUATE)
    rows = [next(play_on), next(play_on)]
    assert [(row.status, row.steps) for row in rows] == [("agent_error", 1)] * 2
    assert rows[0].detail == "ZeroDivisionError: no slope"
    with raises(AgentFault, "ZeroDivisionError: no slope"):
        next(play_on)


@pytest.mark.parametrize("turns", range(1, 5))
def test_an_environment_that_fails_meanwhile_changes_nothing(turns: int) -> None:
    """In another group of slots, which is stepping when the agent is lost."""

    class Falling(Scripted):
        partial_turns = True

        def turn(self, turn: Any) -> Any:
            if len(self.turns) == turns:
                raise ZeroDivisionError("no slope")
            return super().turn(turn)

    glue, _ = glue_of(Falling(still), local(Faulty(faults=["raises"]), 2))
    with raises(AgentFault, "ZeroDivisionError: no slope"):
        list(glue.play(in_turn([cell()] * 8), Phase.EVALUATE))


def test_rows_say_how_the_agent_was_lost() -> None:
    glue = EpisodeRunner(
        Answering(Follower(), AgentTimeout("too slow")), corridor_pool(2), timeouts=PATIENT
    )
    glue.init()
    play_on = glue.play(in_turn(LONG), Phase.EVALUATE)
    rows = [next(play_on), next(play_on)]
    assert [(row.status, row.order.k) for row in rows] == [
        ("agent_timeout", 0),
        ("agent_timeout", 1),
    ]
    with raises(AgentTimeout, "too slow"):
        next(play_on)


# Environments that fail.


def faulty(*faults: str, slots: int = 2) -> tuple[list[Outcome], Scripted]:
    """One episode a fault."""
    agent = Scripted(still)
    glue, _ = glue_of(agent, local(Faulty(faults=faults), slots))
    wanted = [cell(variant=variant) for variant in range(len(faults))]
    return by_k(glue.play(in_turn(wanted), Phase.EVALUATE)), agent


@pytest.mark.parametrize(
    ("fault", "words"),
    [
        ("raises", "RuntimeError: the floor gave way"),
        ("nan", "reward: got nan, wanted a finite number"),
        ("wrong shape", r"observation 'observation': got shape (3,), wanted (2,)"),
        ("no observation", "observation: got names [], wanted 'observation'"),
    ],
)
def test_a_step_that_fails_ends_its_own_episode(fault: str, words: str) -> None:
    rows, _ = faulty(fault, "", "")
    assert [(row.status, row.steps) for row in rows] == [
        ("crashed", 1),
        ("ok", 5),
        ("ok", 5),
    ]
    assert words in rows[0].detail


def test_an_episode_that_fails_otherwise_when_it_is_played_again_says_how_first() -> None:
    """In its first line, which is all that a summary shows."""

    class Moody(Corridor):
        made = 0

        def world(self) -> Walk:
            self.made += 1
            return Failing(self, self.made)

    class Failing(Walk):
        def __init__(self, corridor: Corridor, number: int) -> None:
            super().__init__(corridor)
            self._number = number

        def step(self, action: Arrays) -> Step:
            taken = super().step(action)
            if self._steps == 4 - self._number:
                raise RuntimeError(f"failure {self._number}")
            return taken

    glue, _ = glue_of(Follower(), local(Moody(solved={"walk": [0]})))
    [row] = glue.play(in_turn([cell()]), Phase.EVALUATE)
    assert row.status == "environment_error"
    assert "failure 2" in row.detail.splitlines()[0]
    assert "failure 1" in row.detail


@pytest.mark.parametrize("fault", ["raises", "nan", "wrong shape", "no observation"])
def test_the_agent_is_told_that_a_failed_episode_is_void(fault: str) -> None:
    _, agent = faulty(fault)
    assert agent.ends == [(0, EndKind.VOID)]


def test_a_void_ends_observation_is_zeros() -> None:
    _, agent = faulty("raises")
    assert agent.turns[-1].observations["observation"].tolist() == [[0.0, 0.0]]


def test_an_episode_that_cannot_begin_is_the_environments_error() -> None:
    rows, _ = faulty("raises at start", "")
    assert [(row.status, row.steps) for row in rows] == [("environment_error", 0), ("ok", 5)]
    assert "RuntimeError: the door is stuck" in rows[0].detail


def test_the_agent_never_hears_of_an_episode_that_could_not_begin() -> None:
    _, agent = faulty("raises at start", slots=1)
    assert agent.turns == []


def test_a_slot_whose_start_failed_takes_the_next_cell() -> None:
    rows, agent = faulty("raises at start", "raises at start", "", slots=1)
    assert [row.status for row in rows] == ["environment_error", "environment_error", "ok"]
    assert agent.ends == [(0, EndKind.TRUNCATED)]


def test_an_order_for_an_unknown_variant_is_the_environments_error() -> None:
    rows, _ = played_by(still, wanted=[cell(variant=99)])
    assert rows[0].status == "environment_error"
