"""Faults of either side that the model does not play, and the facts that its errors name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from glue_server import LocalEnvironmentPort, StateMachine
from glue_server.agent.agent_port import MoreTime
from reglue import EndKind, Turn
from reglue.errors import AgentFault, BadAgentReply, EnvironmentFault, OutOfOrder
from reglue.messages.agent_messages import Reply, RoutineDone
from tests.error_facts import raises
from tests.glue_server.routines.lab import (
    PATIENT,
    Actor,
    ToldPort,
    begun,
    ends_of,
    refused,
    started,
)

# Environments that fail.


def test_a_step_whose_return_would_not_be_finite_fails_as_one_whose_reward_is_not() -> None:
    bench = started(slots=2)
    bench.lab.fate = {1: "pays"}
    bench.step()
    bench.lab.fate = {1: "pays"}
    with raises(EnvironmentFault, "slot 1: its return", "1.7e+308", "finite"):
        bench.step()
    assert ends_of(bench.actor) == [(1, EndKind.VOID)]
    assert bench.counts() == [(1.0, 3, 0), (1.7e308, 2, 0)]
    assert bench.step().slots == (0,)
    bench.start()
    assert bench.counts() == [(0.0, 1, 0)] * 2


@pytest.mark.parametrize("routine", ["message", "get_state", "set_state", "standardize", "play"])
def test_an_environment_that_is_lost_voids_every_episode(routine: str) -> None:
    bench = started(slots=2)
    key = bench.get_state()
    bench.lab.env_init = None  # type: ignore[method-assign, assignment]
    bench.lab.broken = routine
    call: dict[str, Callable[[], object]] = {
        "message": lambda: bench.env_message("hi"),
        "get_state": bench.get_state,
        "set_state": lambda: bench.set_state(key),
        "standardize": bench.standardize_randomness,
        "play": bench.step,
    }
    with raises(EnvironmentFault, f"{routine} is broken"):
        call[routine]()
    assert ends_of(bench.actor) == [(0, EndKind.VOID), (1, EndKind.VOID)]
    refused(bench, bench.step, OutOfOrder, "RL_step", "slot 0", "RL_start")


def test_cleanup_reaches_the_agent_though_the_environments_failed() -> None:
    bench = started()
    bench.lab.broken = "cleanup"
    with raises(EnvironmentFault, "cleanup is broken"):
        bench.cleanup()
    assert bench.asked()[1] == [("cleanup",)]
    assert bench.counts() == [(0.0, 1, 0)]
    refused(bench, bench.start, OutOfOrder, "RL_start", "RL_init")


# Agents that fail.


@pytest.mark.parametrize(
    ("fault", "code", "got"),
    [
        ("nan", "NOT_FINITE", "'push' = [nan] in slot 0"),
        ("too many", "WRONG_SIZE", "'push' of shape (2, 1)"),
    ],
)
def test_a_bad_reply_ends_its_slots_episode_and_is_refused(fault: str, code: str, got: str) -> None:
    bench = started()
    bench.actor.fault = fault
    with raises(BadAgentReply, code=code, got=got):
        bench.step()
    assert bench.port.refusals == [code]
    assert ends_of(bench.actor) == []
    assert bench.counts() == [(0.5, 2, 0)]
    refused(bench, bench.step, OutOfOrder, "RL_step", "slot 0", "RL_start")
    refused(bench, lambda: bench.env_step({"push": [0.0]}), OutOfOrder, "slot 0", "RL_start")
    bench.start()


def test_an_episode_that_the_agent_gives_up_is_over() -> None:
    bench = started(slots=2)
    bench.actor.fault = "gives up"
    with raises(AgentFault, "slots [0]"):
        bench.step()
    assert bench.port.refusals == []
    assert bench.step().slots == (1,)


class Deaf(ToldPort):
    """Its agent answers every call with RoutineDone."""

    def receive(self, timeout_s: float, more_s: MoreTime | None = None) -> Reply:
        return RoutineDone()


def test_an_answer_of_another_kind_is_refused() -> None:
    bench = begun()
    port = Deaf(bench.actor)
    bench.machine = StateMachine(LocalEnvironmentPort(bench.lab, "lab"), port, timeouts=PATIENT)
    bench.init()
    with raises(BadAgentReply, got="RoutineDone", wanted="Actions"):
        bench.start()
    with raises(BadAgentReply, got="RoutineDone", wanted="TextMessage"):
        bench.agent_message("hi")
    assert port.refusals == ["WRONG_KIND", "WRONG_KIND"]


def test_both_may_fail_in_one_step() -> None:
    bench = started(slots=2)
    bench.lab.fate = {1: "fails"}
    bench.actor.fault = "nan"
    with raises(BadAgentReply, "slot 0", code="NOT_FINITE") as raised:
        bench.step()
    assert isinstance(raised.value.__cause__, EnvironmentFault)
    refused(bench, bench.step, OutOfOrder, "RL_step", "slot 0", "RL_start")


# Ctrl-C.


class Interrupting(Actor):
    """Is interrupted at every step."""

    def turn(self, turn: Turn) -> Any:
        if len(turn.steps):
            raise KeyboardInterrupt
        return super().turn(turn)


def test_a_routine_that_is_broken_off_breaks_the_machine() -> None:
    """The machine no longer knows which answers are still to come."""
    bench = started(actor=Interrupting())
    with pytest.raises(KeyboardInterrupt):
        bench.step()
    with raises(OutOfOrder, wanted="a new glue"):
        bench.start()
