"""What no glue does on purpose: messages bent, answers lost, everybody refused."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

from glue_server.conformance.tcp_proxy import TcpProxy, UnixProxy
from glue_server.rpc import GlueServer
from glue_server.rpc.admission import Denied
from reglue.net.grpc_settings import grpc

UNKNOWN_FIELD = b"\xc0\x3e\x01"
"""Field 1000, a varint: what a later minor version might add to any message."""


@contextmanager
def bent(port: Any, bend: Callable[[Any], object]) -> Iterator[None]:
    """What is sent within is changed by `bend` first: a protobuf message, in place."""
    dialect = port._codec
    port._codec = _Bending(dialect, bend)
    try:
        yield
    finally:
        port._codec = dialect


@contextmanager
def bent_answers(port: Any, bend: Callable[[Any], object]) -> Iterator[None]:
    """What a benchmark program is answered within is changed by `bend` first, in place."""
    put = port._put

    def bent_put(reply: Any) -> None:
        bend(reply)
        put(reply)

    port._put = bent_put
    try:
        yield
    finally:
        del port._put


@contextmanager
def overheard(port: Any) -> Iterator[list[Any]]:
    """All that comes in meanwhile, also what nobody waits for."""
    heard: list[Any] = []
    arrived = port.arrived

    def listen(line: Any, message: Any) -> None:
        heard.append(message)
        arrived(line, message)

    port.arrived = listen
    try:
        yield heard
    finally:
        del port.arrived


@contextmanager
def losing_answer(port: Any, road: TcpProxy) -> Iterator[None]:
    """The first answer that arrives within gets lost: the road is cut behind it."""
    arrived = port.arrived
    lost: list[Any] = []

    def lose(line: Any, message: Any) -> None:
        if not lost:
            lost.append(line)
            road.cut()
        if line is not lost[0]:  # nothing more gets through what was cut
            arrived(line, message)

    port.arrived = lose
    try:
        yield
    finally:
        del port.arrived


def deny_joins(server: GlueServer, code: str, why: str, *, times: int | None = None) -> list[str]:
    """Refuse whoever joins, so many times or always. The list gets the role of each."""
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
    """Tickets name another address for the stream, and no Unix socket."""
    for places in server._lobby._places.values():
        places.terms = replace(places.terms, address=address, unix_socket_path="")


def lead_over(server: GlueServer, road: UnixProxy, role: str) -> None:
    """Tickets of that role name the Unix socket beside `road`, which leads to the server's own."""
    places = server._lobby._places[role]
    road.unix_socket_target = places.terms.unix_socket_path
    places.terms = replace(places.terms, unix_socket_path=road.unix_socket.address)


@dataclass(frozen=True)
class _Bending:
    dialect: Any
    bend: Callable[[Any], object]

    def encode(self, *arguments: Any) -> Any:
        message = self.dialect.encode(*arguments)
        self.bend(message)
        return message

    def __getattr__(self, name: str) -> Any:
        return getattr(self.dialect, name)
