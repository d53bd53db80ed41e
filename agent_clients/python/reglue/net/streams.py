"""One stream of a session, as the peer's thread uses it: of gRPC, or a Unix socket's."""

from __future__ import annotations

import contextlib
import logging
import math
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from queue import SimpleQueue
from typing import Any, Protocol

from reglue.error_message import printable
from reglue.errors import UsageError
from reglue.net.glue_socket import NoUnixSocket, open_unix_socket
from reglue.net.grpc_settings import HUB_MESSAGE_BYTES, grpc
from reglue.net.join_string import JoinString, Transport
from reglue.net.lobby import NOTE, REFUSALS, StreamEnded, open_channel
from reglue.v1 import lobby_pb2
from reglue.wire.roles import Role

log = logging.getLogger("reglue")

_MOST_BYTES = 2**31 - 1

_END_S = 2.0  # how long grpc may take to end a stream


class Stream(Protocol):
    """A stream of messages in both directions."""

    def send(self, message: bytes) -> None:
        """Send a message. `receive` tells of a broken stream."""

    def send_last(self, message: bytes, timeout_s: float) -> None:
        """Send a message, and wait until it has arrived, at most `timeout_s` seconds."""

    def receive(self, timeout_s: float | None = None) -> bytes | None:
        """The next message; None if none came in time. Raises StreamEnded."""

    def close(self) -> None:
        """Close the stream from this side."""

    @property
    def stood_s(self) -> float:
        """Seconds since the glue admitted this peer on it; 0 if it has not."""


@dataclass(frozen=True, slots=True)
class Route:
    """Opens the streams of a session, over a Unix socket or gRPC."""

    join_string: JoinString
    ticket: lobby_pb2.Ticket
    transport: Transport
    role: Role
    admitted: Callable[[], None]  # is called when the glue has admitted the peer

    def open(self, hello: Any, *, is_back: bool) -> Stream:
        """A stream on which hello was sent. Raises StreamEnded, UsageError.

        A Unix socket if there is one that can be opened, else gRPC, as `transport` allows.
        A peer that finds no Unix socket with a new ticket will find none later: UsageError. One
        that is back has used one, and may join anew.
        """
        if self.transport == "grpc":
            return GrpcStream(self, hello)
        try:
            stream = open_unix_socket(self.ticket, hello, self.max_message_bytes)
        except NoUnixSocket as error:
            if self.transport == "unix" and error.is_lasting and not is_back:
                raise UsageError(got="transport unix", wanted=f"auto or grpc: {error}") from error
            if self.transport == "unix":
                raise StreamEnded(f"{error} (transport unix)") from error
            log.info("messages travel over gRPC, as there is no Unix socket: %s", error)
            return GrpcStream(self, hello)
        log.info("messages travel over the glue's Unix socket")
        self.admitted()
        return stream

    @property
    def max_message_bytes(self) -> int:
        """In both directions, at most gRPC's own limit."""
        return min(self.ticket.max_message_bytes or HUB_MESSAGE_BYTES, _MOST_BYTES)

    @property
    def where(self) -> JoinString:
        """The address for gRPC's streams, by the ticket."""
        return replace(
            self.join_string,
            address=self.ticket.address or self.join_string.address,
            tls_name=self.ticket.tls_name or self.join_string.tls_name,
        )


class GrpcStream:
    """A stream of gRPC."""

    def __init__(self, route: Route, hello: Any) -> None:
        self._outbox: SimpleQueue[bytes | None] = SimpleQueue()
        self._outbox.put(hello.SerializeToString())
        self._channel = open_channel(route.where, route.max_message_bytes)
        try:
            connect: Any = self._channel.stream_stream(route.role.method)
            self._stream = connect(
                iter(self._outbox.get, None), metadata=[("reglue-session", route.ticket.session)]
            )
        except BaseException:
            self._channel.close()
            raise
        self._messages: Iterator[bytes] = iter(self._stream)
        self._admitted = route.admitted
        self._admitted_at: float | None = None
        self._limit = _TimeLimit(self._stream.cancel)
        self._has_ended = threading.Event()
        if not self._stream.add_callback(self._has_ended.set):
            self._has_ended.set()

    def send(self, message: bytes) -> None:
        """Queue a message."""
        self._outbox.put(message)

    def send_last(self, message: bytes, timeout_s: float) -> None:
        """Send a message, and end the stream behind it: the glue ends it once it has read that."""
        self.send(message)
        self._outbox.put(None)
        until = time.monotonic() + timeout_s
        with contextlib.suppress(StreamEnded):
            while self.receive(max(0.0, until - time.monotonic())) is not None:
                pass

    def receive(self, timeout_s: float | None = None) -> bytes | None:
        """The next message; None if none came in time: that ends the stream. Raises StreamEnded."""
        if timeout_s is not None:
            self._limit.set(timeout_s)
        try:
            if self._admitted_at is None:
                headers = self._stream.initial_metadata()
                if self._stream.is_active():  # it has not broken instead
                    self._admitted_at = time.monotonic()
                    self._admitted()
                    _show_note(headers)
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
        """Close the stream and the channel."""
        self._limit.close()
        self._outbox.put(None)
        self._stream.cancel()
        # An uncaught error keeps the stream until the interpreter exits. Then grpc would
        # wait for a thread that held a lock and has ended.
        self._has_ended.wait(_END_S)
        self._channel.close()

    @property
    def stood_s(self) -> float:
        """Seconds since the response headers came."""
        return 0.0 if self._admitted_at is None else time.monotonic() - self._admitted_at


def _show_note(headers: Iterable[tuple[str, str | bytes]]) -> None:
    """Log what the glue has to say to people, such as that the first call may take long."""
    for key, value in headers:
        if key == NOTE and isinstance(value, bytes):
            log.warning("%s", printable(value.decode(errors="replace")))


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
        """Set the seconds that are left from now on; None: no limit."""
        with self._changed:
            self._until = math.inf if timeout_s is None else time.monotonic() + timeout_s
            if self._until < self._sleeps_until:
                self._changed.notify()
        if self._thread is None:
            self._thread = threading.Thread(target=self._watch, name="reglue-limit", daemon=True)
            self._thread.start()

    def close(self) -> None:
        """End the thread."""
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
