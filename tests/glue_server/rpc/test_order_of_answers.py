"""Peers that answer, or ask, in another order are told so at once, and not when time is up."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from glue_server.rpc import GlueServer
from glue_server.rpc.peer_codecs import AgentCodec, Codec, EnvironmentCodec
from glue_server.rpc.server_session import ExperimentPort
from glue_server.rpc.stream_port import WINDOW, StreamPort
from reglue.errors import AgentTimeout, BadReply, EnvironmentTimeout, UsageError
from reglue.messages.agent_messages import Freeze, RoutineDone, TextMessage
from reglue.v1 import agent_pb2, environment_pb2, experiment_pb2, session_pb2
from tests.error_facts import raises
from tests.glue_server.rpc.conftest import Dial
from tests.glue_server.rpc.peers import (
    PATIENCE_S,
    LocalStream,
    seated,
)
from tests.waiting import until

FOREVER_S = 1e6  # no test waits for that


def answer(kind: Any, seq: int) -> Any:
    """A text that names the call."""
    return kind(seq=seq, message=session_pb2.TextMessage(text=f"to {seq}"))


@pytest.fixture(params=["agent", "environment"])
def peer(request: pytest.FixtureRequest) -> Iterator[tuple[StreamPort, Callable[[int], None]]]:
    """A port, and what lets its peer answer a call."""
    codec: Codec = AgentCodec(2**20)
    kind: Any = agent_pb2.AgentReply
    if request.param == "environment":
        codec, kind = EnvironmentCodec(2**20), environment_pb2.EnvironmentReply
    port, line = StreamPort(None, codec), LocalStream()
    port.attach(0, line.stream)
    yield port, lambda seq: line.say(answer(kind, seq))
    port.close("that was all")


def test_an_answer_before_that_to_an_older_call_is_refused_at_once(
    peer: tuple[StreamPort, Callable[[int], None]],
) -> None:
    port, answers = peer
    for seq in (1, 2, 3):
        port.send(TextMessage(f"{seq}"))
    for seq in (2, 1, 3):
        answers(seq)
    (number,) = port.filenos()
    assert number >= 0
    with raises(
        BadReply,
        code="OUT_OF_ORDER",
        got="the answer to call 2 before that to call 1",
        wanted="answers in the order of calls",
    ):
        port.receive(FOREVER_S)
    assert port.is_ready()
    assert port.receive(FOREVER_S) == TextMessage("to 2")
    assert port.receive(FOREVER_S) == TextMessage("to 3")
    assert not port.is_ready()
    port.send(TextMessage("4"))
    answers(4)
    assert port.receive(FOREVER_S) == TextMessage("to 4")


def test_an_answer_that_came_too_early_is_there_for_who_polls(
    peer: tuple[StreamPort, Callable[[int], None]],
) -> None:
    port, answers = peer
    for seq in (1, 2):
        port.send(TextMessage(f"{seq}"))
    assert not port.is_ready()
    answers(2)
    with raises(BadReply, code="OUT_OF_ORDER"):
        port.receive(FOREVER_S)
    assert port.is_ready()
    assert port.receive(FOREVER_S) == TextMessage("to 2")
    assert not port.is_ready()


def test_each_call_that_was_passed_over_is_named(
    peer: tuple[StreamPort, Callable[[int], None]],
) -> None:
    port, answers = peer
    for seq in (1, 2, 3):
        port.send(TextMessage(f"{seq}"))
    answers(3)
    for seq in (1, 2):
        with raises(BadReply, f"call {seq}", code="OUT_OF_ORDER"):
            port.receive(FOREVER_S)
    assert port.receive(FOREVER_S) == TextMessage("to 3")


def test_an_answer_that_is_late_is_the_fault_of_its_peer(
    peer: tuple[StreamPort, Callable[[int], None]], request: pytest.FixtureRequest
) -> None:
    """Its caller hears that it came after all, and nothing more."""
    port, answers = peer
    role = request.node.callspec.params["peer"]
    for seq in (1, 2):
        port.send(TextMessage(f"{seq}"))
    with raises({"agent": AgentTimeout, "environment": EnvironmentTimeout}[role], role, "0 s"):
        port.receive(0.0)
    assert port.owed == 1
    for seq in (1, 2):
        answers(seq)
    assert port.receive(FOREVER_S) is None
    assert port.owed == 0
    assert port.receive(FOREVER_S) == TextMessage("to 2")


def test_an_agent_is_told_what_was_out_of_order(server: GlueServer, dial: Dial) -> None:
    agent = dial()
    port: Any = seated(server)
    for seq in (1, 2):
        port.send(TextMessage(f"{seq}"))
    for seq in (2, 1):
        agent.send(answer(agent_pb2.AgentReply, seq))
    with raises(BadReply, code="OUT_OF_ORDER") as refused:
        port.receive(FOREVER_S)
    assert port.receive(FOREVER_S) == TextMessage("to 2")
    port.refuse(refused.value)
    calls = [agent.hear() for _ in range(3)]
    assert calls[2].refusal.code == session_pb2.REFUSAL_CODE_OUT_OF_ORDER


def test_a_call_too_many_is_refused(server: GlueServer, dial: Dial) -> None:
    dial()
    port: Any = seated(server)
    for _ in range(WINDOW):
        port.send(Freeze())
    with raises(UsageError, got="9 calls without an answer"):
        port.send(Freeze())


def test_a_call_that_is_not_the_next_one_is_refused_at_once() -> None:
    """Once until the next call: a program may send without end."""
    port = ExperimentPort(None)  # type: ignore[arg-type]
    line = LocalStream()
    port.attach(0, line.stream)

    def asks(seq: int) -> None:
        line.say(experiment_pb2.ExperimentCall(seq=seq, freeze=experiment_pb2.RlFreeze()))

    for seq in (3, 3, 4, 1, 2, 2):  # 2, too: 1 is not answered yet
        asks(seq)
    until(lambda: port.next(PATIENCE_S) is not None, "call 1 comes")
    for _ in range(2):
        assert port.next(PATIENCE_S) is None  # 2 came too early, twice
    port.answer(RoutineDone())
    asks(2)
    assert port.next(PATIENCE_S) is not None
    port.answer(RoutineDone())
    port.close("that was all")
    replies = [experiment_pb2.ExperimentReply.FromString(each) for each in line.heard]
    kinds = [(reply.seq, reply.WhichOneof("reply")) for reply in replies]
    assert kinds == [
        *((3, "refusal"), (2, "refusal"), (1, "done"), (2, "done"), (0, "farewell")),
    ]
    assert replies[0].refusal.code == session_pb2.REFUSAL_CODE_OUT_OF_ORDER
