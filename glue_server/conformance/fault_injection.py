"""Faults that no glue makes on purpose: altered messages, lost answers, refused clients."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

from glue_server.conformance.tcp_proxy import TcpProxy, UnixProxy
from glue_server.rpc import GlueServer
from glue_server.rpc.admission import Denied
from glue_server.rpc.peer_codecs import AgentCodec
from reglue.net.grpc_settings import grpc
from reglue.v1.agent_pb2 import AgentCall
from reglue.v1.environment_pb2 import EnvironmentCall
from reglue.v1.experiment_pb2 import ExperimentReply

UNKNOWN_FIELD = b"\xc0\x3e\x01"
"""Field 1000, a varint: what a later minor version might add to any message."""


@contextmanager
def bent(port: Any, bend: Callable[[Any], object]) -> Iterator[None]:
    """Alter each protobuf message that is sent meanwhile: `bend` changes it in place."""
    codec = port._codec
    kind = AgentCall if isinstance(codec, AgentCodec) else EnvironmentCall
    port._codec = _Bending(codec, kind, bend)
    try:
        yield
    finally:
        port._codec = codec


@contextmanager
def bent_answers(port: Any, bend: Callable[[Any], object]) -> Iterator[None]:
    """Alter each answer to a benchmark program meanwhile: `bend` changes it in place."""
    put = port._put

    def bent_put(reply: bytes) -> None:
        message = ExperimentReply.FromString(reply)
        bend(message)
        put(message.SerializeToString())

    port._put = bent_put
    try:
        yield
    finally:
        del port._put


@contextmanager
def recording_messages(port: Any) -> Iterator[list[Any]]:
    """Record all messages that arrive meanwhile, also unexpected ones."""
    received: list[Any] = []
    takes: Callable[[Any, Any], bool] = port._takes

    def listen(connection: Any, message: Any) -> bool:
        received.append(message)
        return takes(connection, message)

    port._takes = listen
    try:
        yield received
    finally:
        del port._takes


@contextmanager
def losing_answer(port: Any, proxy: TcpProxy) -> Iterator[None]:
    """Lose the first answer that arrives meanwhile: the proxy cuts the connection after it."""
    takes: Callable[[Any, Any], bool] = port._takes
    lost: list[Any] = []

    def lose(connection: Any, message: Any) -> bool:
        if not lost:
            lost.append(connection)
            proxy.cut()
        # nothing more arrives over a cut connection
        return connection is not lost[0] and takes(connection, message)

    port._takes = lose
    try:
        yield
    finally:
        del port._takes


def deny_joins(server: GlueServer, code: str, why: str, *, times: int | None = None) -> list[str]:
    """Refuse every Join, `times` times or always. The list gets the role of each."""
    denied: list[str] = []
    let_in = server._lobby._check_free

    def deny(role: str) -> None:
        if times is not None and len(denied) >= times:
            let_in(role)
            return
        denied.append(role)
        raise Denied(grpc.StatusCode[code], why)

    server._lobby._check_free = deny  # type: ignore[method-assign]
    return denied


def send_on(server: GlueServer, address: str) -> None:
    """Let tickets name another address for the stream, and no Unix socket."""
    for places in server._lobby._places.values():
        places.terms = replace(places.terms, address=address, unix_socket_path="")


def route_through(server: GlueServer, proxy: UnixProxy, role: str) -> None:
    """Let tickets of that role name the proxy's Unix socket, which leads to the server's own."""
    places = server._lobby._places[role]
    proxy.unix_socket_target = places.terms.unix_socket_path
    places.terms = replace(places.terms, unix_socket_path=proxy.unix_socket.address)


@dataclass(frozen=True)
class _Bending:
    codec: Any
    kind: type[AgentCall] | type[EnvironmentCall]
    bend: Callable[[Any], object]

    def encode(self, *arguments: Any) -> bytes:
        message = self.kind.FromString(self.codec.encode(*arguments))
        self.bend(message)
        return message.SerializeToString()

    def __getattr__(self, name: str) -> Any:
        return getattr(self.codec, name)
