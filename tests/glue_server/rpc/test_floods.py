"""Peers that send without being asked, or do not read, are a burden to nobody else."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from queue import SimpleQueue
from typing import Any

import pytest

from glue_server.agent.agent_port import AgentPort
from glue_server.rpc import GlueServer, peer_streams
from reglue.errors import AgentDisconnected
from reglue.messages.agent_messages import Freeze, RoutineDone, TextMessage
from reglue.net.grpc_settings import grpc
from reglue.net.lobby import hello_proof
from reglue.v1 import agent_pb2 as pb
from reglue.v1 import experiment_pb2, experiment_pb2_grpc, lobby_pb2, session_pb2
from tests.glue_server.rpc.conftest import Dial
from tests.glue_server.rpc.peers import PATIENCE_S, RawUnixSocket, ask, frame, seated, ticket_of
from tests.waiting import until

pytestmark = pytest.mark.slow

AGAIN = experiment_pb2.ExperimentCall(seq=7)
UNASKED = pb.AgentReply(seq=1, done=session_pb2.RoutineDone())


@pytest.fixture
def closing() -> Iterator[ExitStack]:
    with ExitStack() as closing:
        yield closing


def flood(unix_socket: RawUnixSocket, message: bytes, closing: ExitStack) -> None:
    """Send it without end, until the test is over or nobody listens."""

    def sending() -> None:
        with suppress(OSError):
            while True:
                unix_socket.send(message)

    def stop() -> None:
        with suppress(OSError):  # the glue was faster
            unix_socket.socket.shutdown(socket.SHUT_RDWR)
        thread.join(PATIENCE_S)

    thread = threading.Thread(target=sending, daemon=True)
    thread.start()
    closing.callback(stop)


def test_an_agent_that_answers_unasked_while_it_waits_is_let_go(
    server: GlueServer, dial: Dial
) -> None:
    agent = dial()
    port: Any = seated(server)
    agent.send(UNASKED)
    until(lambda: port.is_gone, "it is let go")
    with pytest.raises((grpc.RpcError, StopIteration)):  # its stream is over
        agent.hear()


def test_an_agent_that_floods_between_its_calls_is_let_go(server: GlueServer, dial: Dial) -> None:
    agent = dial()
    port: Any = seated(server)
    port.send(Freeze())
    agent.done()
    assert port.receive(PATIENCE_S) == RoutineDone()
    for _ in range(20):
        agent.send(UNASKED)
    until(lambda: port.is_gone, "it is let go")
    with pytest.raises(AgentDisconnected):
        port.send(Freeze())


class Program:
    """A benchmark program, message by message, over gRPC."""

    def __init__(self, server: GlueServer, channel: grpc.Channel) -> None:
        ticket = ask(channel, token=server.token, role=lobby_pb2.ROLE_EXPERIMENT)
        self._outbox: SimpleQueue[experiment_pb2.ExperimentCall | None] = SimpleQueue()
        self.send(hello=hello_of(ticket))
        stub = experiment_pb2_grpc.ExperimentServiceStub(channel)
        self.stream = stub.Session(
            iter(self._outbox.get, None), metadata=[("reglue-session", ticket.session)]
        )

    def send(self, **fields: Any) -> None:
        self._outbox.put(experiment_pb2.ExperimentCall(**fields))

    def leave(self) -> None:
        self._outbox.put(None)


def hello_of(ticket: lobby_pb2.Ticket) -> experiment_pb2.ExperimentHello:
    proof = hello_proof(ticket.secret, ticket.session, 0)
    return experiment_pb2.ExperimentHello(major=1, session=ticket.session, proof=proof)


def test_a_program_that_repeats_its_answered_call_is_answered_once_over_a_stream() -> None:
    """Else the answers that it does not read pile up."""
    with (
        GlueServer(places={"experiment": 1}) as server,
        grpc.insecure_channel(server.address) as channel,
    ):
        program = Program(server, channel)
        port = server.next("experiment", PATIENCE_S)
        assert port is not None
        for seq in (1, 2):
            for _ in range(20):
                program.send(seq=seq, freeze=experiment_pb2.RlFreeze())
            until(lambda: port.next(PATIENCE_S) is not None, "its call comes, after its stream")
            port.answer(RoutineDone())
        program.send(seq=3, freeze=experiment_pb2.RlFreeze())
        until(lambda: port.next(PATIENCE_S) is not None, "all that came before was taken in")
        port.close("that was all")
        assert [reply.seq for reply in program.stream] == [1, 2, 0]
        program.leave()


def unix_socket_program(
    server: GlueServer, channel: grpc.Channel, closing: ExitStack
) -> RawUnixSocket:
    ticket = ask(channel, token=server.token, role=lobby_pb2.ROLE_EXPERIMENT)
    unix_socket = closing.enter_context(RawUnixSocket(ticket))
    unix_socket.send(experiment_pb2.ExperimentCall(hello=hello_of(ticket)).SerializeToString())
    unix_socket.hear()
    return unix_socket


def test_a_program_that_floods_its_unix_socket_keeps_nobody_from_joining(
    closing: ExitStack,
) -> None:
    server = closing.enter_context(GlueServer(places={"experiment": 2}))
    channel = closing.enter_context(grpc.insecure_channel(server.address))
    flood(unix_socket_program(server, channel, closing), AGAIN.SerializeToString(), closing)
    for _ in range(3):
        assert ask(channel, token=server.token, role=lobby_pb2.ROLE_EXPERIMENT).session


def test_a_look_at_a_program_takes_in_a_few_of_its_messages(closing: ExitStack) -> None:
    """Else one that sends as fast as they are read would be looked at for ever."""
    server = closing.enter_context(GlueServer(places={"experiment": 1}))
    channel = closing.enter_context(grpc.insecure_channel(server.address))
    unix_socket = unix_socket_program(server, channel, closing)
    port = server.next("experiment", PATIENCE_S)
    assert port is not None
    farewell = experiment_pb2.ExperimentCall(farewell=session_pb2.Farewell(reason="that was all"))
    said = [each.SerializeToString() for each in (*[AGAIN] * 100, farewell)]
    unix_socket.socket.sendall(b"".join(map(frame, said)))
    assert not port.is_gone
    until(lambda: port.is_gone, "all was taken in")


def test_the_end_of_a_session_waits_for_no_peer_that_reads_nothing(
    server: GlueServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(peer_streams, "_LAST_S", 1000.0)
    with RawUnixSocket(ticket_of(server)) as unix_socket:
        unix_socket.enter()
        port: AgentPort = seated(server)
        port.send(TextMessage("x" * 4_000_000))
        ending = threading.Thread(target=port.close, args=("that was all",), daemon=True)
        ending.start()
        ending.join(PATIENCE_S)
        assert not ending.is_alive()


def test_what_terminals_obey_does_not_come_in_by_a_name(server: GlueServer, dial: Dial) -> None:
    dial(agent="\x1b[2J\x9b31mevil\r\nname", sdk="\x07sdk")
    hello = seated(server).hello
    assert (hello.agent, hello.sdk) == ("[2J31mevil name", "sdk")
