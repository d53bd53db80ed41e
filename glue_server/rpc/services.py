"""The service of each role, and the session that a peer's hello begins."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, fields
from types import MappingProxyType
from typing import Any

from google.protobuf.message import DecodeError

from glue_server.rpc.admission import Denied, Greeting, Lobbies, Terms
from glue_server.rpc.peer_codecs import AgentCodec, Codec, EnvironmentCodec
from glue_server.rpc.peer_streams import GrpcStream, StreamEnded
from glue_server.rpc.server_session import NO_TICKET, ExperimentPort, PeerSession
from glue_server.rpc.stream_port import StreamPort
from reglue.error_message import printable
from reglue.messages.agent_messages import AgentHello
from reglue.messages.environment_messages import EnvironmentHello
from reglue.messages.experiment_messages import ExperimentHello
from reglue.net.grpc_settings import grpc
from reglue.wire.roles import AGENT, ENVIRONMENT, EXPERIMENT, Role

log = logging.getLogger("reglue")

HELLO_S = 10.0  # how long a stream may stay silent before its hello

_ELSEWHERE = "this glue takes peers over its Unix socket alone: join on its host"
_NAME = 200  # characters of a name that are kept


@dataclass(frozen=True, slots=True)
class Service:
    """The service of one role."""

    role: Role
    description: type[Any]  # what is kept of a hello
    codec: Callable[[int], Codec] | None  # None: the peer asks, and is answered

    def make_session(self, hello: Any, terms: Terms) -> PeerSession:
        """The session of a peer that says `hello`."""
        said = {each.name: getattr(hello, each.name) for each in fields(self.description)}
        peer = self.description(
            **{name: shown_name(v) if isinstance(v, str) else v for name, v in said.items()}
        )
        window_s = terms.reconnect_window_s
        if self.codec is None:
            return ExperimentPort(peer, reconnect_window_s=window_s)
        return StreamPort(peer, self.codec(terms.max_message_bytes), reconnect_window_s=window_s)


SERVICES: Mapping[str, Service] = MappingProxyType(
    {
        service.role.name: service
        for service in (
            Service(AGENT, AgentHello, AgentCodec),
            Service(ENVIRONMENT, EnvironmentHello, EnvironmentCodec),
            Service(EXPERIMENT, ExperimentHello, None),
        )
    }
)
"""Services by role, as in `Lobby`."""


def shown_name(text: str) -> str:
    """A name as one line that may be printed."""
    return " ".join(printable(text[:_NAME]).split())


def hello_in(role: Role, message: bytes) -> Greeting:
    """The hello of a stream's first message. Raises Denied."""
    try:
        first = role.from_peer.FromString(message)
    except DecodeError as error:
        log.warning("a stream of an %s could not be read: %s", role.name, error)
        first = role.from_peer()
    if not first.HasField("hello"):
        raise Denied(grpc.StatusCode.INVALID_ARGUMENT, "a session begins with a hello")
    hello: Greeting = first.hello
    return hello


def received_hello(role: Role, stream: GrpcStream) -> Greeting:
    """The hello that a stream begins with. Raises Denied."""
    until = time.monotonic() + HELLO_S
    try:
        while (message := stream.receive(max(0.0, until - time.monotonic()))) is None:
            if time.monotonic() >= until:
                words = f"no hello within {HELLO_S:g} s"
                raise Denied(grpc.StatusCode.DEADLINE_EXCEEDED, words)
    except StreamEnded as end:
        words = "the stream ended before its hello"
        raise Denied(grpc.StatusCode.CANCELLED, words) from end
    return hello_in(role, message)


class Streams:
    """One role's streams over gRPC, each of which belongs to a session of a lobby."""

    def __init__(self, lobbies: Lobbies, role: Role, *, takes_any: bool = True) -> None:
        """Unless it `takes_any`, peers are told to come over the Unix socket."""
        self._lobbies = lobbies
        self._role = role
        self._takes_any = takes_any

    def check(self, session: str) -> None:
        """Raise Denied for a stream without a ticket, or if none are taken."""
        if not self._takes_any:
            raise Denied(grpc.StatusCode.INVALID_ARGUMENT, _ELSEWHERE)
        if not self._lobbies.of(session).knows(session):  # `admit` looks at its role
            raise Denied(grpc.StatusCode.UNAUTHENTICATED, NO_TICKET)

    def carry(
        self, session: str, messages: Iterator[bytes], context: grpc.ServicerContext
    ) -> Iterator[bytes]:
        """Admit a peer whose hello is good, and send what its session says. Raises Denied."""
        stream = GrpcStream(messages)
        try:
            hello = received_hello(self._role, stream)
            self._lobbies.of(session).admit(session, self._role.name, hello, stream)
        except BaseException:
            stream.end()
            raise
        context.send_initial_metadata(())  # headers: it is admitted
        yield from stream  # its session ends it, once it has received what came
