"""The Unix socket of a glue: who gets in over its Unix socket, and what strangers say there."""

from __future__ import annotations

import select
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from glue_server import EnvironmentCalls, EpisodeRunner
from glue_server.processes.interrupts import interruptible
from glue_server.rpc import GlueServer, unix_listener
from glue_server.rpc.server_session import NO_TICKET
from reglue import Phase, Worlds, connect
from reglue.errors import AgentDisconnected, AgentFault, AgentTimeout, Refused
from reglue.messages.agent_messages import AgentInit, Freeze, RoutineDone, TextMessage
from reglue.net.glue_socket import HELLO_BYTES
from reglue.net.grpc_settings import grpc
from reglue.net.join_string import Transport
from reglue.net.lobby import hello_proof, unix_socket_proof
from reglue.v1 import agent_pb2 as pb
from reglue.v1 import environment_pb2, session_pb2
from tests.error_facts import raises
from tests.glue_server.playing import PATIENT, SOLVED, Follower, cells, corridor_pool, in_turn
from tests.glue_server.rpc.peers import (
    PATIENCE_S,
    RawUnixSocket,
    frame,
    hello_of,
    seated,
    ticket_of,
)
from tests.leftovers import nothing_left
from tests.worlds import Corridor

SPEC = corridor_pool().spec
_SHORT_S = 0.2


@pytest.fixture
def server() -> Iterator[GlueServer]:
    with nothing_left(), GlueServer(transport="unix") as server:
        yield server


def done(seq: int) -> bytes:
    return pb.AgentReply(seq=seq, done=session_pb2.RoutineDone()).SerializeToString()


# Who gets in.


def test_the_welcome_shows_that_it_is_the_tickets_glue(server: GlueServer) -> None:
    with RawUnixSocket(ticket_of(server)) as unix_socket:
        welcome = unix_socket.enter()
        proof = unix_socket_proof(unix_socket.ticket.secret, unix_socket.ticket.session, 0)
        assert (welcome.code, welcome.proof) == (0, proof)
        assert seated(server).hello.agent == "raw"


def test_a_ticket_of_another_role_does_not_do() -> None:
    with GlueServer(places={"agent": 1, "environment": 1}) as server:
        ticket = ticket_of(server)
        ticket.unix_socket_path = ticket.unix_socket_path.replace("/agent", "/environment")
        proof = hello_proof(ticket.secret, ticket.session, 0)
        hello = environment_pb2.EnvironmentHello(major=1, session=ticket.session, proof=proof)
        with RawUnixSocket(ticket) as unix_socket:
            unix_socket.send(environment_pb2.EnvironmentReply(hello=hello).SerializeToString())
            welcome = unix_socket.welcome()
        assert (welcome.code, welcome.why) == (grpc.StatusCode.UNAUTHENTICATED.value[0], NO_TICKET)
        assert server.next("environment", 0.0) is None


@pytest.mark.parametrize(
    "said",
    [
        b"GET / HTTP/1.1\r\n\r\n",
        b"\xff\xff\xff\xff",
        (HELLO_BYTES + 1).to_bytes(4, "little"),
        frame(b"no message at all"),
        frame(b""),
        frame(pb.AgentReply(seq=1).SerializeToString()),
    ],
)
def test_strangers_are_shown_out_before_anything_is_read(server: GlueServer, said: bytes) -> None:
    with RawUnixSocket(ticket_of(server)) as unix_socket:
        unix_socket.socket.sendall(said)
        data = b""
        while not data.endswith(b"hello") and (more := unix_socket.socket.recv(4096)):
            data += more
        assert data == b"" or b"a session begins with a hello" in data
    with RawUnixSocket(ticket_of(server)) as unix_socket:
        assert unix_socket.enter().code == 0


def test_who_says_nothing_keeps_nobody_waiting(server: GlueServer) -> None:
    with RawUnixSocket(ticket_of(server)) as silent, RawUnixSocket(ticket_of(server)) as slow:
        hello = frame(hello_of(slow.ticket).SerializeToString())
        slow.socket.sendall(hello[:9])
        silent.socket.sendall(b"\x10")
        with RawUnixSocket(slow.ticket) as quick:
            assert quick.enter().code == 0


def test_who_says_nothing_for_long_is_shown_out(
    server: GlueServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(unix_listener, "HELLO_S", _SHORT_S)
    with RawUnixSocket(ticket_of(server)) as silent:
        silent.socket.sendall(b"\x10")
        assert silent.is_closed()


def test_so_many_may_say_nothing_at_a_time(
    server: GlueServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The others hear so, and come over gRPC."""
    monkeypatch.setattr(unix_listener, "_MOST", 2)
    ticket = ticket_of(server)
    with RawUnixSocket(ticket), RawUnixSocket(ticket), RawUnixSocket(ticket) as third:
        assert third.welcome().code == grpc.StatusCode.RESOURCE_EXHAUSTED.value[0]
        assert third.is_closed()


def test_nobody_comes_over_grpc_where_the_unix_socket_is_all(server: GlueServer) -> None:
    with raises(Refused, "Unix socket"):
        connect(Follower(), server.address, server.token, transport="grpc", connect_timeout_s=1.0)


# Who is in.


def test_a_whole_message_counts_however_it_comes(server: GlueServer) -> None:
    with RawUnixSocket(ticket_of(server)) as unix_socket:
        unix_socket.enter()
        port = seated(server)
        port.send(AgentInit(SPEC))
        port.send(Freeze())
        both = frame(done(unix_socket.call().seq)) + frame(done(unix_socket.call().seq))
        for at in range(len(both)):
            unix_socket.socket.sendall(both[at : at + 1])
        assert [port.receive(PATIENCE_S), port.receive(PATIENCE_S)] == [
            RoutineDone(),
            RoutineDone(),
        ]


def test_half_a_message_and_silence_is_too_late(server: GlueServer) -> None:
    with RawUnixSocket(ticket_of(server)) as unix_socket:
        unix_socket.enter()
        port = seated(server)
        port.send(AgentInit(SPEC))
        unix_socket.socket.sendall(frame(done(unix_socket.call().seq))[:-1])
        with pytest.raises(AgentTimeout):
            port.receive(_SHORT_S)


@pytest.mark.parametrize(
    "said", [b"\xff\xff\xff\xff", (2**26 + 1).to_bytes(4, "little"), frame(b"\xff" * 9)]
)
def test_a_length_beyond_the_tickets_and_no_message_end_the_session(
    server: GlueServer, said: bytes
) -> None:
    with RawUnixSocket(ticket_of(server)) as unix_socket:
        unix_socket.enter()
        port = seated(server)
        port.send(AgentInit(SPEC))
        unix_socket.call()
        unix_socket.socket.sendall(said)
        with pytest.raises(AgentDisconnected):
            port.receive(PATIENCE_S)
        assert unix_socket.is_closed()


def test_a_peer_that_does_not_read_holds_nobody_up(server: GlueServer) -> None:
    """Messages that do not fit into the socket wait, and come in order when it reads again."""
    texts = [f"{number}" * 2**20 for number in range(6)]
    with RawUnixSocket(ticket_of(server)) as unix_socket:
        unix_socket.enter()
        port = seated(server)
        for text in texts:
            port.send(TextMessage(text))
        heard = [unix_socket.call() for _ in texts]
        assert [call.message.text for call in heard] == texts
        unix_socket.send(done(heard[0].seq))
        assert port.receive(PATIENCE_S) == RoutineDone()


def test_a_peer_that_never_reads_does_not_keep_the_glue_from_closing() -> None:
    with nothing_left(), GlueServer() as server, RawUnixSocket(ticket_of(server)) as unix_socket:
        unix_socket.enter()
        seated(server).send(TextMessage("x" * 2**22))


def test_a_newer_unix_socket_takes_over() -> None:
    with (
        GlueServer(reconnect_window_s=PATIENCE_S) as server,
        RawUnixSocket(ticket_of(server)) as old,
    ):
        old.enter()
        port = seated(server)
        port.send(AgentInit(SPEC))
        old.call()
        with RawUnixSocket(old.ticket) as new:
            assert new.enter().code == 0
            assert old.is_closed()
            new.send(done(new.call().seq))
            assert port.receive(PATIENCE_S) == RoutineDone()


# Drivers that wait for several at once.


def test_the_descriptor_is_readable_when_an_answer_or_a_loss_waits(transport: Transport) -> None:
    with (
        nothing_left(),
        GlueServer(transport=transport) as server,
        ThreadPoolExecutor(1) as threads,
    ):
        agent = Thoughtful()
        left = threads.submit(connect, agent, server.address, server.token)
        port: Any = seated(server)
        (number,) = port.filenos()
        for text in ("one", "two", "three"):
            port.send(TextMessage(text))
            assert not readable(number, 0.0)
            agent.knows.set()
            assert readable(number, PATIENCE_S)
            assert port.receive(PATIENCE_S) == TextMessage(text)
            assert port.filenos() == (number,)
        port.send(TextMessage("fail"))
        assert readable(number, PATIENCE_S)
        with raises(AgentFault, "RuntimeError: told to"):
            port.receive(PATIENCE_S)
        port.close("enough")
        with raises(RuntimeError, "told to"):
            left.result(PATIENCE_S)


@pytest.mark.parametrize("look", ["receive", "is_gone"])
def test_an_answer_that_was_read_with_another_is_seen(server: GlueServer, look: str) -> None:
    """Or else a driver that waits for it sleeps until the agent's time is up."""
    with RawUnixSocket(ticket_of(server)) as unix_socket:
        unix_socket.enter()
        port: Any = seated(server)
        port.send(Freeze())
        port.send(Freeze())
        answers = [frame(done(unix_socket.call().seq)) for _ in range(2)]
        unix_socket.socket.sendall(b"".join(answers))
        assert port.receive(PATIENCE_S) == RoutineDone() if look == "receive" else not port.is_gone
        assert port.is_ready()
        assert readable(port.filenos()[0], 0.0)


class Thoughtful(Follower):
    """Answers a message when it knows what to say."""

    def __init__(self) -> None:
        self.knows = threading.Event()

    def agent_message(self, message: str) -> str:
        if message == "fail":
            raise RuntimeError("told to")
        assert self.knows.wait(PATIENCE_S)
        self.knows.clear()
        return message


@pytest.mark.usefixtures("more_than_1024_descriptors")
def test_peers_are_waited_for_beyond_descriptor_1023() -> None:
    """select.select fails there, and a hub has as many with a few hundred connections."""
    with (
        ThreadPoolExecutor(2) as threads,
        GlueServer(transport="unix", places={"agent": 1, "environment": 1}) as server,
    ):
        corridor = Worlds(Corridor(solved=SOLVED))
        threads.submit(connect, corridor, server.address, server.tokens["environment"])
        threads.submit(connect, Follower(), server.address, server.tokens["agent"])
        port = server.next("environment", PATIENCE_S)
        assert port is not None
        environment, agent = EnvironmentCalls(port), seated(server)
        statuses: list[str] = []

        def play() -> None:
            environment.init(1)
            glue = EpisodeRunner(agent, environment, timeouts=PATIENT)
            glue.init()
            statuses.extend(each.status for each in glue.play(in_turn(cells()), Phase.EVALUATE))

        assert not interruptible(play)
        assert statuses == ["ok"] * len(cells())
        environment.close()


def readable(number: int, timeout_s: float) -> bool:
    return bool(select.select([number], [], [], timeout_s)[0])
