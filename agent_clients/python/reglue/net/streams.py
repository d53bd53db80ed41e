"""One stream of a session, as the peer's thread uses it: of gRPC, or a Unix socket."""

from __future__ import annotations

import hmac
import logging
import math
import socket
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from queue import SimpleQueue
from typing import Any, Protocol

from google.protobuf.message import DecodeError

from reglue.errors import ReglueError, SessionLost, UsageError
from reglue.net.grpc_settings import HUB_MESSAGE_BYTES, grpc
from reglue.net.join_string import JoinString, Transport
from reglue.net.lobby import REFUSALS, open_channel, unix_socket_proof
from reglue.net.unix_socket import HELLO_BYTES, UnixSocket, UnixSocketEnded, foreign, path_here
from reglue.v1 import lobby_pb2

log = logging.getLogger("reglue")

_MOST_BYTES = 2**31 - 1

_WELCOME_S = 10.0  # how long a glue may take to answer a hello
_END_S = 2.0  # how long grpc may take to end a stream

_CODES = {code.value[0]: code for code in grpc.StatusCode}


class StreamEnded(Exception):
    """Nothing more comes: why, in words, and the status if there is one."""

    def __init__(self, why: str, code: grpc.StatusCode | None = None) -> None:
        super().__init__(why)
        self.why, self.code = why, code

    def meaning(self) -> ReglueError:
        """SessionLost, or the error of a glue that refuses the peer."""
        if self.code in REFUSALS:
            return REFUSALS[self.code](self.why)
        return SessionLost(self.why)


class Stream(Protocol):
    """Messages both ways."""

    def send(self, message: Any) -> None:
        """Send a message. `receive` tells of a broken stream."""

    def receive(self, timeout_s: float | None = None) -> Any | None:
        """The next message; None if none came in time. Raises StreamEnded."""

    def close(self) -> None:
        """End it from this side."""

    @property
    def stood_s(self) -> float:
        """Seconds since the glue admitted this peer on it; 0 if it has not."""


@dataclass(frozen=True, slots=True)
class Route:
    """How a session's streams are opened."""

    join_string: JoinString
    ticket: lobby_pb2.Ticket
    transport: Transport
    connect: Callable[[grpc.Channel], Any]  # the method that opens a stream of gRPC
    kind: Any  # the class of the messages that come in

    def open(self, hello: Any, *, is_back: bool) -> Stream:
        """A stream on which hello was said. Raises StreamEnded, UsageError.

        A Unix socket where there is one that can be opened, else gRPC, as `transport` allows.
        A peer that finds no Unix socket with a new ticket will find none later: UsageError. One
        that is back has used one, and may join anew.
        """
        if self.transport == "grpc":
            return GrpcStream(self, hello)
        try:
            return _open_unix_socket(self.ticket, hello, self.kind, self.max_message_bytes)
        except _NoUnixSocket as error:
            if self.transport == "unix" and error.is_lasting and not is_back:
                raise UsageError(f"got transport unix, wanted auto or grpc: {error}") from error
            if self.transport == "unix":
                raise StreamEnded(f"{error} (--transport unix)") from error
            log.debug("%s; using gRPC", error)
        return GrpcStream(self, hello)

    @property
    def max_message_bytes(self) -> int:
        """Either way; no more than gRPC can be told."""
        return min(self.ticket.max_message_bytes or HUB_MESSAGE_BYTES, _MOST_BYTES)

    @property
    def where(self) -> JoinString:
        """Where the ticket says that gRPC's streams are opened."""
        return replace(
            self.join_string,
            address=self.ticket.address or self.join_string.address,
            tls_name=self.ticket.tls_name or self.join_string.tls_name,
        )


class GrpcStream:
    """A stream of gRPC."""

    def __init__(self, route: Route, hello: Any) -> None:
        self._outbox: SimpleQueue[Any | None] = SimpleQueue()
        self._outbox.put(hello)
        self._channel = open_channel(route.where, route.max_message_bytes)
        try:
            self._stream = route.connect(self._channel)(
                iter(self._outbox.get, None), metadata=[("reglue-session", route.ticket.session)]
            )
        except BaseException:
            self._channel.close()
            raise
        self._messages: Iterator[Any] = iter(self._stream)
        self._admitted_at: float | None = None
        self._limit = _TimeLimit(self._stream.cancel)
        self._has_ended = threading.Event()
        if not self._stream.add_callback(self._has_ended.set):
            self._has_ended.set()

    def send(self, message: Any) -> None:
        """Queue it."""
        self._outbox.put(message)

    def receive(self, timeout_s: float | None = None) -> Any | None:
        """The next message; None if none came in time: that ends the stream. Raises StreamEnded."""
        if timeout_s is not None:
            self._limit.set(timeout_s)
        try:
            if self._admitted_at is None:
                self._stream.initial_metadata()  # which says that we are admitted, or that it broke
                self._admitted_at = time.monotonic()
            return next(self._messages)
        except StopIteration:
            raise StreamEnded("the glue closed the session without a farewell") from None
        except grpc.RpcError as error:
            if self._limit.is_over:
                return None
            why = str(error.details())
            known = error.code() in REFUSALS
            raise StreamEnded(
                why if known else f"the glue went away: {why}", error.code()
            ) from error
        finally:
            if timeout_s is not None:
                self._limit.set(None)

    def close(self) -> None:
        """End it, and the channel."""
        self._limit.close()
        self._outbox.put(None)
        self._stream.cancel()
        # An uncaught error keeps the stream until the interpreter exits. Then grpc would
        # wait for a thread that held a lock and has ended.
        self._has_ended.wait(_END_S)
        self._channel.close()

    @property
    def stood_s(self) -> float:
        """Since the response headers came."""
        return 0.0 if self._admitted_at is None else time.monotonic() - self._admitted_at


class _TimeLimit:
    """Ends a stream whose next message does not come in time: gRPC has no such wait.

    Its thread starts with the first limit, and sleeps until the one that it knows.
    """

    def __init__(self, end: Callable[[], object]) -> None:
        self.is_over = False
        self._end = end
        self._until = self._sleeps_until = math.inf  # monotonic seconds
        self._changed = threading.Condition()
        self._thread: threading.Thread | None = None

    def set(self, timeout_s: float | None) -> None:
        """From now on that many seconds are left; None: any number."""
        with self._changed:
            self._until = math.inf if timeout_s is None else time.monotonic() + timeout_s
            if self._until < self._sleeps_until:
                self._changed.notify()
        if self._thread is None:
            self._thread = threading.Thread(target=self._watch, name="reglue-limit", daemon=True)
            self._thread.start()

    def close(self) -> None:
        """Let the thread go."""
        if self._thread is not None:
            self.set(0.0)
            self._thread.join()

    def _watch(self) -> None:
        with self._changed:
            while (left_s := self._until - time.monotonic()) > 0:
                self._sleeps_until = self._until
                self._changed.wait(min(left_s, threading.TIMEOUT_MAX))
            self.is_over = True
        self._end()


class UnixStream:
    """A Unix socket, after a good welcome."""

    def __init__(self, unix_socket: UnixSocket, kind: Any) -> None:
        self._unix_socket = unix_socket
        self._kind = kind
        self._admitted_at = time.monotonic()

    def send(self, message: Any) -> None:
        """Write it to the socket."""
        try:
            self._unix_socket.send(message.SerializeToString())
        except UnixSocketEnded as error:  # what came in before is still to be read
            log.debug("an answer was not sent: %s", error)

    def receive(self, timeout_s: float | None = None) -> Any | None:
        """The next message; None if none came in time. Raises StreamEnded."""
        try:
            message = self._unix_socket.receive(timeout_s)
            return None if message is None else self._kind.FromString(message)
        except UnixSocketEnded as error:
            raise StreamEnded(f"the glue went away: {error}") from error
        except DecodeError as error:
            raise StreamEnded(f"the glue sent what this client cannot read: {error}") from error

    def close(self) -> None:
        """End it."""
        self._unix_socket.shut()
        self._unix_socket.close()

    @property
    def stood_s(self) -> float:
        """Since the welcome."""
        return time.monotonic() - self._admitted_at


class _NoUnixSocket(Exception):
    """The glue cannot be reached over a Unix socket: why, and whether that will stay so."""

    def __init__(self, why: str, *, is_lasting: bool = False) -> None:
        super().__init__(why)
        self.is_lasting = is_lasting


_NOT_OURS: Mapping[type[OSError], str] = {
    FileNotFoundError: "no such file; the glue is on another host, or in a container: mount its "
    "folder of sockets here, and name that by REGLUE_UNIX_SOCKET_DIR",
    PermissionError: "it is another user's, who may let you in with --open-unix-socket",
}
"""Why this process cannot use a new ticket's socket."""


def _open_unix_socket(ticket: lobby_pb2.Ticket, hello: Any, kind: Any, most: int) -> UnixStream:
    """Open the ticket's socket. Raises _NoUnixSocket, and StreamEnded if the glue refuses us."""
    if not ticket.unix_socket_path:
        raise _NoUnixSocket("the glue offers no Unix socket", is_lasting=True)
    if not hasattr(socket, "AF_UNIX"):
        raise _NoUnixSocket("this platform has no Unix sockets", is_lasting=True)
    path = path_here(ticket.unix_socket_path)
    _check_unix_socket(path)
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        connection.settimeout(_WELCOME_S)
        connection.connect(path)
    except OSError as error:
        connection.close()
        raise _cannot_open(path, error) from error
    unix_socket = UnixSocket(connection, HELLO_BYTES)
    try:
        _say_hello(unix_socket, ticket, hello)
    except BaseException:
        unix_socket.close()
        raise
    unix_socket.allow(most)
    return UnixStream(unix_socket, kind)


def _check_unix_socket(path: str) -> None:
    """Raise _NoUnixSocket for a socket that is no glue's, before anything is sent to it."""
    try:
        why = foreign(path)
    except OSError as error:
        raise _cannot_open(path, error) from error
    if why is not None:
        raise _NoUnixSocket(f"{path} is no socket of a glue's: {why}", is_lasting=True)


def _cannot_open(path: str, error: OSError) -> _NoUnixSocket:
    why = _NOT_OURS.get(type(error))
    return _NoUnixSocket(f"{path} cannot be opened: {why or error}", is_lasting=why is not None)


def _say_hello(unix_socket: UnixSocket, ticket: lobby_pb2.Ticket, hello: Any) -> None:
    """Say hello, and check that the ticket's glue answers."""
    try:
        unix_socket.send(hello.SerializeToString(), _WELCOME_S)
        answer = unix_socket.receive(_WELCOME_S)
        welcome = lobby_pb2.UnixSocketWelcome.FromString(answer or b"")
    except UnixSocketEnded as error:
        raise StreamEnded(f"the glue went away: {error}") from error
    except DecodeError as error:
        raise _NoUnixSocket(f"no welcome at the Unix socket: {error}") from error
    code = _CODES.get(welcome.code, grpc.StatusCode.UNKNOWN)
    if code is grpc.StatusCode.RESOURCE_EXHAUSTED:
        raise _NoUnixSocket(welcome.why)
    if code is not grpc.StatusCode.OK:
        raise StreamEnded(welcome.why, code)
    proof = unix_socket_proof(ticket.secret, ticket.session, hello.hello.answered)
    if not hmac.compare_digest(welcome.proof, proof):
        raise _NoUnixSocket("the Unix socket is not of the glue that we joined")
