"""Inabilities of a connected agent, and unreadable messages: who hears of it, in which words."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from glue_server.rpc import GlueServer
from reglue import Agent, Ends, Phase, Starts, Steps, TaskSpec, TensorSpec, Turn
from reglue.errors import (
    AgentFault,
    NotAnAgent,
    SessionLost,
    SpecError,
)
from reglue.messages.agent_messages import Actions, AgentInit, Freeze, Numbered, TextMessage
from reglue.net.grpc_settings import grpc
from reglue.v1 import agent_pb2 as pb
from reglue.wire.agent_encoding import encode_call
from tests.error_facts import raises
from tests.glue_server.rpc.peers import seated
from tests.reglue.connecting import PATIENCE_S, Start, Still

pytestmark = pytest.mark.usefixtures("tidy")

SPEC = TaskSpec((TensorSpec("seen", "float32", (2,)),), (TensorSpec("action", "float32"),), slots=2)


# Agents that fail: their own error is raised here, its words are heard there.


class Failing(Still):
    def __init__(self, error: BaseException) -> None:
        self.error = error

    def agent_freeze(self) -> None:
        raise self.error


class BackEnd(grpc.RpcError):
    """The error of an agent's own client of some model server."""

    def code(self) -> grpc.StatusCode:
        return grpc.StatusCode.UNAUTHENTICATED

    def details(self) -> str:
        return "the model server wants a password"


@pytest.mark.parametrize(
    "error",
    [
        ZeroDivisionError("no slope"),
        BackEnd(),
        SpecError("a spec of the agent's own"),
        SessionLost("a session of the agent's own"),
    ],
    ids=lambda error: type(error).__name__,
)
def test_what_the_agent_raises_is_raised_as_it_is(
    server: GlueServer, start: Start, error: Exception
) -> None:
    agent = start(Failing(error), server.address, server.token)
    port = seated(server)
    port.send(AgentInit(SPEC))
    port.receive(PATIENCE_S)
    port.send(Freeze())
    with raises(AgentFault, type(error).__name__):
        port.receive(PATIENCE_S)
    port.close("goodbye")
    assert agent.exception(PATIENCE_S) is error


def a_start() -> Turn:
    none, flags = np.zeros(0, np.uint32), np.zeros(0, np.uint8)
    return Turn(
        Phase.TRAIN,
        Ends(none, flags),
        Steps(none, flags),
        Starts(np.zeros(1, np.uint32), np.zeros(1, np.uint64)),
        np.zeros(0),
        {"seen": np.zeros((1, 2), np.float32)},
    )


class Wordless(Still):
    def agent_message(self, message: str) -> Any:
        return 42


class Negative(Still):
    def turn(self, turn: Turn) -> Any:
        return Actions({"action": np.zeros(1)}, abandon=(-1,))


class Empty(Still):
    def agent_start(self, observations: Any, starts: Any) -> Any:
        return {"arm": [0]}


@pytest.mark.parametrize(
    ("agent", "call", "kind", "named"),
    [
        (Wordless(), TextMessage("hello"), TypeError, []),
        (Negative(), a_start(), ValueError, []),
        (Empty(), a_start(), NotAnAgent, [["arm"], ["action"]]),
    ],
)
def test_an_answer_that_cannot_be_sent_is_the_agents_fault(
    server: GlueServer, start: Start, agent: Agent, call: Any, kind: type[Exception], named: Any
) -> None:
    """Its glue hears the same words."""
    future = start(agent, server.address, server.token)
    port = seated(server)
    port.send(AgentInit(SPEC))
    port.receive(PATIENCE_S)
    port.send(call)
    with raises(AgentFault, kind.__name__, *named):
        port.receive(PATIENCE_S)
    port.close("goodbye")
    with raises(kind, *named):
        future.result(PATIENCE_S)


# A glue that sends what nobody can read.


def init(**tensor: Any) -> pb.AgentCall:
    call = encode_call(Numbered(1, AgentInit(SPEC)), None)
    for name, value in tensor.items():
        if name == "shape":
            call.init.spec.observations[0].shape[:] = value
        else:
            setattr(call.init.spec.observations[0], name, value)
    return call


def a_bad_turn(change: Callable[[pb.Turn], object]) -> pb.AgentCall:
    call = encode_call(Numbered(2, a_start()), SPEC)
    change(call.turn)
    return call


@pytest.mark.parametrize(
    ("calls", "named"),
    [
        ([pb.AgentCall(seq=1)], "unknown call"),
        ([pb.AgentCall(seq=1, turn=pb.Turn())], "turn before init"),
        ([pb.AgentCall(seq=1, freeze=pb.Freeze())], "freeze before init"),
        ([init(shape=[2**31, 2**31])], "shape"),
        ([init(dtype=99)], "dtype 99"),
        ([init(), a_bad_turn(lambda turn: setattr(turn, "phase", 9))], "phase 9"),
        ([init(), a_bad_turn(lambda turn: turn.start_slots.__setitem__(0, 2))], "slot 2"),
        ([init(), a_bad_turn(lambda turn: turn.observations.pop())], "0 tensors"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_malformed_call_ends_the_session(
    server: GlueServer, start: Start, calls: list[pb.AgentCall], named: str
) -> None:
    agent = start(Still(), server.address, server.token)
    port: Any = seated(server)
    for call in calls:
        port._stream.send(call.SerializeToString())
    with raises(SessionLost, "cannot read", named):
        agent.result(PATIENCE_S)


def test_a_message_before_init_is_answered(server: GlueServer, start: Start) -> None:
    class Polite(Still):
        def agent_message(self, message: str) -> str:
            return "here"

    agent = start(Polite(), server.address, server.token)
    port = seated(server)
    port.send(TextMessage("anybody?"))
    assert port.receive(PATIENCE_S) == TextMessage("here")
    port.close("bye")
    assert agent.result(PATIENCE_S) == "bye"
