"""One stream of a session, as the driver's side uses it: gRPC's, or a Unix socket."""

from __future__ import annotations

import contextlib
import logging
import selectors
import socket
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from queue import SimpleQueue
from typing import Any, Protocol

from google.protobuf.message import DecodeError

from glue_server.processes.event_loop import EventLoop
from reglue.net.unix_socket import UnixSocket, UnixSocketEnded


class ConnectionEnded(Exception):
    """Nothing more comes in over a connection."""


class PeerStopped(ConnectionEnded):
    """It was ended here, as its peer's program has been stopped for long."""


class Connection(Protocol):
    """The outgoing side of one stream. A session that reconnects gets a new one."""

    def put(self, message: bytes) -> None:
        """Send a message.

        Does not block for long. Send errors are ignored: the reader reports a broken stream.
        """

    def end(self) -> None:
        """End the stream behind what was put."""


class GrpcConnection:
    """A stream of gRPC, as the two threads of its handler see it: one of them reads."""

    def __init__(self) -> None:
        self._queue: SimpleQueue[bytes | None] = SimpleQueue()

    def put(self, message: bytes) -> None:
        self._queue.put(message)

    def end(self) -> None:
        self._queue.put(None)

    def __iter__(self) -> Iterator[bytes]:
        return iter(self._queue.get, None)


log = logging.getLogger("reglue")

ALONE_S = 0.002
"""Seconds that a new task may have to wait for one that is alone so far."""

STOPPED_S = 20.0  # how long a peer's program may be stopped; over gRPC: MESSAGE_S
_LOOK_S = 2.0  # how often it is looked at
_SEND_S = 0.005  # how long the driver waits for a peer that reads slowly
_LAST_S = 2.0  # how long what is left to send may take once it has ended


class UnixConnection:
    """A Unix socket, whose messages go out and come in whole.

    Messages are kept until `begin`. What the peer does not read at once is sent by a
    thread that is started then, so that the driver never waits for a peer that does not read.
    """

    def __init__(self, unix_socket: UnixSocket, kind: Any, role: str) -> None:
        """`kind` is the class of the messages that come in."""
        self._unix_socket = unix_socket
        self._kind = kind
        self._sending, self._reading = threading.Lock(), threading.Lock()
        self._kept: list[bytes] | None = []
        self._pusher: _Pusher | None = None
        self._has_ended = False
        self._role = role
        self._pid = unix_socket.peer()
        self._look_at = 0.0  # monotonic seconds, when the peer's process is looked at again
        self._stopped_since: float | None = None

    def begin(self, first: bytes) -> None:
        """Send `first`, then what was kept."""
        with self._sending:
            kept, self._kept = self._kept or [], None
            for message in (first, *kept):
                self._send(message)
            if self._has_ended:
                self._finish()

    def put(self, message: bytes) -> None:
        with self._sending:
            if self._has_ended:
                return
            if self._kept is None:
                self._send(message)
            else:
                self._kept.append(message)

    def end(self) -> None:
        """End the Unix socket behind what was put; its reader sees it ended."""
        with self._sending:
            if self._has_ended:
                return
            self._has_ended = True
            if self._kept is None:
                self._finish()

    def take(self, timeout_s: float) -> bytes | None:
        """The next message; None if none came in time, or soon. Raises ConnectionEnded.

        Without time there is none while another thread takes one.
        """
        if not self._reading.acquire(blocking=timeout_s > 0):
            return None
        try:
            if self._has_ended:
                raise UnixSocketEnded("it was ended here")
            loop = EventLoop.current() if timeout_s else None
            if loop is None:
                message = self._unix_socket.receive(min(timeout_s, _LOOK_S))
            else:
                message = self._receive_in_task(loop, min(timeout_s, _LOOK_S))
            if message is None:
                self._check_runs()
            return message
        except UnixSocketEnded as error:
            raise ConnectionEnded(str(error)) from error
        finally:
            self._reading.release()

    def parsed(self, message: bytes) -> Any:
        """A message as protobuf reads it. Raises ConnectionEnded."""
        try:
            return self._kind.FromString(message)
        except DecodeError as error:
            raise ConnectionEnded(str(error)) from error

    def fileno(self) -> int:
        """Readable when something has come, unless it is held already."""
        return self._unix_socket.fileno()

    @property
    def holds_message(self) -> bool:
        """Whether `take` has a message without a look at the socket."""
        return self._unix_socket.holds_message

    def _receive_in_task(self, loop: EventLoop, timeout_s: float) -> bytes | None:
        """Like UnixSocket's `receive`; other tasks go on meanwhile."""
        # With a single task, skip the event loop: it would add 10 % to a light step.
        first_s = min(timeout_s, ALONE_S) if loop.is_alone or self.holds_message else 0.0
        message = self._unix_socket.receive(first_s) if first_s else None
        if message is None:
            until = time.monotonic() + timeout_s - first_s
            while message is None and time.monotonic() < until:
                loop.wait(until, self.fileno())
                message = self._unix_socket.receive(0.0)
        return message

    def _check_runs(self) -> None:
        """Raise PeerStopped if the peer's program has been stopped for long.

        A stopped program keeps its Unix socket open, and one that thinks is as silent.
        """
        now = time.monotonic()
        if now < self._look_at:
            return
        self._look_at = now + _LOOK_S
        if not _is_stopped(self._pid):
            self._stopped_since = None
        elif self._stopped_since is None:
            self._stopped_since = now
        elif now >= self._stopped_since + STOPPED_S:
            why = f"process {self._pid} has been stopped for {STOPPED_S:g} s (SIGCONT continues it)"
            log.warning("the connection of an %s is ended: its %s", self._role, why)
            raise PeerStopped(why)

    def _send(self, message: bytes) -> None:
        if self._pusher is not None:
            self._pusher.put(message)
            return
        try:
            rest = self._unix_socket.send(message, _SEND_S)
        except UnixSocketEnded:
            return  # the reader sees it too
        if rest:
            self._pusher = _Pusher(self._unix_socket, rest)

    def _finish(self) -> None:
        if self._pusher is not None:
            self._pusher.finish(self._close)
        else:
            self._close()

    def _close(self) -> None:
        self._unix_socket.shut()  # wakes its reader
        # Closed once nobody reads it: the descriptor may be another file's at once.
        with self._reading:
            self._unix_socket.close()


def _is_stopped(pid: int) -> bool:
    """Whether a signal has stopped the process; False if it is unknown, as in another container."""
    try:
        status = Path(f"/proc/{pid}/stat").read_bytes()
    except OSError:
        return False
    return status.rpartition(b")")[2].split()[0] == b"T"


class _Pusher:
    """Sends what did not fit into the socket, and from then on everything."""

    def __init__(self, unix_socket: UnixSocket, rest: memoryview) -> None:
        self._unix_socket = unix_socket
        self._queue: SimpleQueue[bytes | None] = SimpleQueue()
        self._thread = threading.Thread(
            target=self._push, args=(rest,), name="reglue-pusher", daemon=True
        )
        self._thread.start()

    def put(self, message: bytes) -> None:
        self._queue.put(message)

    def finish(self, then: Callable[[], None]) -> None:
        """Have what is left sent, for a moment, and `then` called; waits for neither."""
        self._then = then
        self._last = threading.Timer(_LAST_S, self._unix_socket.shut)  # wakes a send that hangs
        self._last.daemon = True
        self._last.start()
        self._queue.put(None)

    def _push(self, rest: memoryview) -> None:
        messages = iter(self._queue.get, None)
        try:
            self._unix_socket.send_rest(rest)
            for message in messages:
                self._unix_socket.send(message)
        except UnixSocketEnded:
            for _ in messages:  # nobody takes them any more
                pass
        self._last.cancel()
        self._then()


class Wakeup:
    """A pollable descriptor that is readable when a message may be waiting, for gRPC and Unix
    sockets alike.

    Readable after `set`, or when something has come over the watched Unix socket.
    """

    def __init__(self, connection: Connection | None) -> None:
        self._selector = selectors.DefaultSelector()
        self._is_set = False
        self._receiver, self._sender = socket.socketpair()
        for end in (self._receiver, self._sender):
            end.setblocking(False)
        self._selector.register(self._receiver, selectors.EVENT_READ)
        self.change(None, connection)

    def fileno(self) -> int:
        """The same as long as it is open."""
        return self._selector.fileno()

    def is_readable(self) -> bool:
        """Whether it is now. Also beyond descriptor 1023, at which select.select fails."""
        return bool(self._selector.select(0))

    def change(self, old: Connection | None, connection: Connection | None) -> None:
        """Watch another stream, before the old one is ended."""
        if isinstance(old, UnixConnection):
            self._selector.unregister(old)
        if isinstance(connection, UnixConnection):
            self._selector.register(connection, selectors.EVENT_READ)

    def set(self) -> None:
        """Something waits."""
        self._is_set = True
        with contextlib.suppress(OSError):  # it is set already, or nobody watches any more
            self._sender.send(b"!")

    def clear(self) -> None:
        """Nothing waits. Ask afterwards whether that is so: threads call `set` at any time."""
        if self._is_set:
            self._is_set = False
            with contextlib.suppress(OSError):
                while self._receiver.recv(64):
                    pass

    def close(self) -> None:
        """Let the descriptors go."""
        self._selector.close()
        self._receiver.close()
        self._sender.close()
