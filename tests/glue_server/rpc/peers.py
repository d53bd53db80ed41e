"""Agents that are written message by message, or byte by byte, to say what no SDK would."""

from __future__ import annotations

import socket
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from queue import SimpleQueue
from typing import Any

import pytest

from glue_server.agent.agent_port import AgentPort
from glue_server.rpc import GlueServer
from glue_server.rpc.peer_streams import GrpcStream
from reglue.net.grpc_settings import grpc
from reglue.net.lobby import hello_proof
from reglue.v1 import agent_pb2 as pb
from reglue.v1 import agent_pb2_grpc, lobby_pb2, lobby_pb2_grpc, session_pb2
from tests.error_facts import assert_named

PATIENCE_S = 20.0

# Methods of a server.
JOIN, CHECK = "/reglue.v1.LobbyService/Join", "/grpc.health.v1.Health/Check"
SESSION = "/reglue.v1.AgentService/Session"
REFLECTION = "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo"


def ask(channel: grpc.Channel, **request: Any) -> lobby_pb2.Ticket:
    """Join as an agent of this version, with that request's fields changed."""
    whole: dict[str, Any] = {"major": 1, "role": lobby_pb2.ROLE_AGENT, "name": "raw"} | request
    stub = lobby_pb2_grpc.LobbyServiceStub(channel)
    ticket: lobby_pb2.Ticket = stub.Join(lobby_pb2.JoinRequest(**whole), timeout=PATIENCE_S)
    return ticket


def ticket_of(server: GlueServer) -> lobby_pb2.Ticket:
    """For an agent that has the token."""
    with grpc.insecure_channel(server.address) as channel:
        return ask(channel, token=server.tokens["agent"])


def seated(server: GlueServer) -> AgentPort:
    """The glue's end of the agent that has joined."""
    port: AgentPort | None = server.next("agent", PATIENCE_S)
    assert port is not None
    return port


def refusal(error: grpc.RpcError) -> tuple[str, str]:
    """Its code's name and its words."""
    return error.code().name, error.details() or ""


@contextmanager
def denied(code: str, *named: object) -> Iterator[None]:
    """The block ends with this code, and details that name these."""
    with pytest.raises(grpc.RpcError) as error:
        yield
    got, details = refusal(error.value)
    assert got == code, details
    assert_named(named, details)


class LocalStream:
    """A stream of gRPC without a network: `stream` is the glue's end, and the rest the peer's."""

    def __init__(self) -> None:
        self._said: SimpleQueue[bytes | None] = SimpleQueue()
        self.stream = _GlueEnd(self._said)
        self.heard = iter(self.stream)
        """The messages that the glue has sent."""

    def say(self, message: Any) -> None:
        """Send a message as the peer."""
        self._said.put(message.SerializeToString())

    def break_off(self) -> None:
        """End the stream as a peer whose connection breaks."""
        self._said.put(None)


class _GlueEnd(GrpcStream):
    """When the glue ends it, the peer can send no more."""

    def __init__(self, said: SimpleQueue[bytes | None]) -> None:
        super().__init__(iter(said.get, None))
        self._said = said

    def end(self) -> None:
        super().end()
        self._said.put(None)


def hello_of(ticket: lobby_pb2.Ticket, *, proves: int = 0, **changed: Any) -> pb.AgentReply:
    """A good hello, unless fields of it are changed; its proof is of `proves` answers."""
    good: dict[str, Any] = {
        "major": 1,
        "session": ticket.session,
        "proof": hello_proof(ticket.secret, ticket.session, proves),
        "agent": "raw",
        "episodic": True,
    }
    return pb.AgentReply(hello=pb.AgentHello(**good | changed))


class RawAgent:
    """One stream of gRPC, opened with a good hello unless fields of it are changed."""

    def __init__(
        self,
        channel: grpc.Channel,
        token: str,
        *,
        ticket: lobby_pb2.Ticket | None = None,
        metadata: str | None = None,
        first: pb.AgentReply | None = None,
        **hello: Any,
    ) -> None:
        self.ticket = ticket or ask(channel, token=token)
        self._open(channel, self.ticket.session if metadata is None else metadata)
        self.send(first or hello_of(self.ticket, **hello))

    def _open(self, channel: grpc.Channel, session: str) -> None:
        self._outbox: SimpleQueue[pb.AgentReply | None] = SimpleQueue()
        self.stream = agent_pb2_grpc.AgentServiceStub(channel).Session(
            iter(self._outbox.get, None), metadata=[("reglue-session", session)]
        )
        self._calls: Iterator[pb.AgentCall] = iter(self.stream)

    def hear(self) -> pb.AgentCall:
        """The next call. Raises grpc.RpcError where it was denied, StopIteration at the end."""
        return next(self._calls)

    def send(self, reply: pb.AgentReply) -> None:
        self._outbox.put(reply)

    def done(self) -> pb.AgentCall:
        """Answer the next call with Done."""
        call = self.hear()
        self.send(pb.AgentReply(seq=call.seq, done=session_pb2.RoutineDone()))
        return call

    def act(self, *entries: bytes) -> pb.AgentCall:
        """Answer the next call with these bytes as Actions."""
        call = self.hear()
        self.send(pb.AgentReply(seq=call.seq, actions=pb.Actions(actions=entries)))
        return call

    def hang_up(self) -> None:
        """Say nothing more."""
        self._outbox.put(None)

    def vanish(self) -> None:
        """Break the stream without a word."""
        self._outbox.put(None)
        self.stream.cancel()


def frame(message: bytes) -> bytes:
    return len(message).to_bytes(4, "little") + message


class RawUnixSocket:
    """A peer on a Unix socket, byte by byte."""

    def __init__(self, ticket: lobby_pb2.Ticket) -> None:
        self.ticket = ticket
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.settimeout(PATIENCE_S)
        self.socket.connect(ticket.unix_socket_path)

    def __enter__(self) -> RawUnixSocket:
        return self

    def __exit__(self, *_: object) -> None:
        self.socket.close()

    def enter(self) -> lobby_pb2.UnixSocketWelcome:
        self.send(hello_of(self.ticket).SerializeToString())
        return self.welcome()

    def welcome(self) -> lobby_pb2.UnixSocketWelcome:
        return lobby_pb2.UnixSocketWelcome.FromString(self.hear())

    def send(self, message: bytes) -> None:
        self.socket.sendall(frame(message))

    def hear(self) -> bytes:
        return self._exactly(int.from_bytes(self._exactly(4), "little"))

    def call(self) -> pb.AgentCall:
        return pb.AgentCall.FromString(self.hear())

    def is_closed(self) -> bool:
        try:
            return self.socket.recv(1) == b""
        except ConnectionResetError:
            return True

    def _exactly(self, size: int) -> bytes:
        data = b""
        while len(data) < size:
            try:
                more = self.socket.recv(size - len(data))
            except ConnectionResetError:
                more = b""
            if not more:
                raise StopIteration("the glue has closed the Unix socket")
            data += more
        return data


class RawUnixAgent(RawAgent):
    """A RawAgent over the Unix socket of its ticket."""

    def _open(self, channel: grpc.Channel, session: str) -> None:
        self.unix_socket = RawUnixSocket(self.ticket)
        self._is_welcome = False

    def hear(self) -> pb.AgentCall:
        if not self._is_welcome:
            welcome = self.unix_socket.welcome()
            if welcome.code:
                raise _Refused(welcome)
            self._is_welcome = True
        return self.unix_socket.call()

    def send(self, reply: pb.AgentReply) -> None:
        with suppress(OSError):  # the glue has closed it
            self.unix_socket.send(reply.SerializeToString())

    def hang_up(self) -> None:
        self.unix_socket.socket.shutdown(socket.SHUT_WR)

    def vanish(self) -> None:
        self.unix_socket.socket.close()


class _Refused(grpc.RpcError):
    """A refusal by the welcome of a Unix socket, as gRPC raises one."""

    def __init__(self, welcome: lobby_pb2.UnixSocketWelcome) -> None:
        super().__init__(welcome.why)
        self._welcome = welcome

    def code(self) -> grpc.StatusCode:
        return next(each for each in grpc.StatusCode if each.value[0] == self._welcome.code)

    def details(self) -> str:
        return self._welcome.why


RAW_AGENTS: Mapping[str, type[RawAgent]] = {"grpc": RawAgent, "unix": RawUnixAgent}
"""The agent of each transport."""
