"""Messages over a Unix socket, for peers on one host, and the peer's stream of them.

Each message is preceded by its length, four bytes, little-endian.
"""

from __future__ import annotations

import contextlib
import logging
import math
import select
import socket
import struct
import sys
import time

from reglue.net.adaptive_spin import AdaptiveSpin
from reglue.net.lobby import StreamEnded

log = logging.getLogger("reglue")

_LENGTH = struct.Struct("<I")
_HEADER = _LENGTH.size
_ROOM = 1 << 13  # bytes that are read at once, until a larger message comes
_NOTHING = memoryview(b"")
_LOOK_UP_S = 1  # Python handles a signal that came right before a wait only after it


class UnixSocketEnded(Exception):
    """A connection over a Unix socket has ended: the reason as text."""


class UnixSocket:
    """One connection, used by one thread at a time. It owns the socket."""

    def __init__(self, connection: socket.socket, max_message_bytes: int) -> None:
        # Waits poll: a `recv` that sleeps is also woken when the other end reads what we sent.
        connection.setblocking(False)
        self._socket = connection
        self._most = max_message_bytes
        self._buffer = memoryview(bytearray(min(_ROOM, _HEADER + max_message_bytes)))
        self._held = 0  # bytes at the buffer's beginning that were read and not taken
        self._spin = AdaptiveSpin()
        self._readable, self._writable = select.poll(), select.poll()
        self._readable.register(connection, select.POLLIN)
        self._writable.register(connection, select.POLLOUT)

    def allow(self, max_message_bytes: int) -> None:
        """From now on messages may be that large; the buffer grows with what comes."""
        self._most = max_message_bytes

    def fileno(self) -> int:
        """Its file descriptor, readable when bytes or the end have come."""
        return self._socket.fileno()

    @property
    def holds_message(self) -> bool:
        """Whether a whole message was read with an earlier one: nothing makes it readable."""
        if self._held < _HEADER:
            return False
        size: int = _LENGTH.unpack_from(self._buffer)[0]
        return size > self._most or self._held >= _HEADER + size

    def peer(self) -> int:
        """The process id of the other end; 0 if the kernel does not say."""
        if sys.platform != "linux":
            return 0
        size = struct.calcsize("3i")
        found = self._socket.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, size)
        pid: int = struct.unpack("3i", found)[0]
        return pid

    def send(self, message: bytes, timeout_s: float | None = None) -> memoryview:
        """Send a message; returns what could not be sent in time. None: without a limit.

        Raises UnixSocketEnded.
        """
        header = _LENGTH.pack(len(message))
        try:
            sent = self._socket.sendmsg((header, message))
        except BlockingIOError:
            sent = 0
        except OSError as error:
            raise UnixSocketEnded(str(error)) from error
        if sent == _HEADER + len(message):
            return _NOTHING
        if sent < _HEADER:
            return self.send_rest(memoryview(header + message)[sent:], timeout_s)
        return self.send_rest(memoryview(message)[sent - _HEADER :], timeout_s)

    def send_rest(self, rest: memoryview, timeout_s: float | None = None) -> memoryview:
        """Send the rest of a frame, like `send`."""
        until = math.inf if timeout_s is None else -math.inf
        while True:
            try:
                rest = rest[self._socket.send(rest) :]
            except BlockingIOError:
                pass
            except OSError as error:
                raise UnixSocketEnded(str(error)) from error
            if not rest:
                return rest
            if until == -math.inf and timeout_s is not None:  # only now is the clock read
                until = time.monotonic() + timeout_s
            if not _is_ready(self._writable, until):
                return rest

    def receive(self, timeout_s: float | None = None) -> bytes | None:
        """The next message; None if it has not come whole in time. Raises UnixSocketEnded."""
        if self._held and (message := self._take()) is not None:
            return message
        looks = timeout_s == 0
        until = math.inf if timeout_s is None else time.monotonic() + timeout_s
        if not (looks or (self._spin.pays() and self._spin.spin(self._readable))):
            first_s = _LOOK_UP_S if timeout_s is None else min(timeout_s, _LOOK_UP_S)
            if not (self._readable.poll(1000 * first_s) or _is_ready(self._readable, until)):
                return None
        while True:
            try:
                room = self._buffer[self._held :] if self._held else self._buffer
                count = self._socket.recv_into(room)
            except BlockingIOError:
                return None
            except OSError as error:
                raise UnixSocketEnded(str(error)) from error
            if not count:
                raise UnixSocketEnded("its end of the Unix socket is closed")
            self._held += count
            if (message := self._take()) is not None:
                return message
            if not (looks or _is_ready(self._readable, until)):
                return None

    def shut(self) -> None:
        """End it, also for threads that wait at either end."""
        with contextlib.suppress(OSError):  # the other end was faster
            self._socket.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        """Close the socket; no thread may be using it."""
        self._socket.close()

    def _take(self) -> bytes | None:
        """The first message that is held whole. Raises UnixSocketEnded if one is too large."""
        held = self._held
        if held < _HEADER:
            return None
        end = _HEADER + _LENGTH.unpack_from(self._buffer)[0]
        if end > _HEADER + self._most:
            raise UnixSocketEnded(
                f"got a message of {end - _HEADER} bytes, wanted at most {self._most}"
            )
        if held < end:
            self._make_room(end)
            return None
        message = bytes(self._buffer[_HEADER:end])
        self._held = held - end
        if held > end:
            self._buffer[: self._held] = self._buffer[end : end + self._held]
        return message

    def _make_room(self, size: int) -> None:
        if size > len(self._buffer):
            larger = memoryview(bytearray(size))
            larger[: self._held] = self._buffer[: self._held]
            self._buffer = larger


def _is_ready(poll: select.poll, until: float) -> bool:
    """Sleep until it is, or time is up."""
    while True:
        left_s = max(0.0, until - time.monotonic())
        if poll.poll(1000 * min(left_s, _LOOK_UP_S)):
            return True
        if left_s <= _LOOK_UP_S:
            return False


class UnixStream:
    """A stream over a Unix socket whose glue has sent a good welcome."""

    def __init__(self, unix_socket: UnixSocket) -> None:
        self._unix_socket = unix_socket
        self._admitted_at = time.monotonic()

    def send(self, message: bytes) -> None:
        """Write a message to the socket."""
        try:
            self._unix_socket.send(message)
        except UnixSocketEnded as error:  # what came in before is still to be read
            log.debug("an answer was not sent: %s", error)

    def send_last(self, message: bytes, _: float) -> None:
        """As `send`: what a socket has taken arrives, also after we have left."""
        self.send(message)

    def receive(self, timeout_s: float | None = None) -> bytes | None:
        """The next message; None if none came in time. Raises StreamEnded."""
        try:
            return self._unix_socket.receive(timeout_s)
        except UnixSocketEnded as error:
            raise StreamEnded(f"the glue went away: {error}") from error

    def close(self) -> None:
        """End it."""
        self._unix_socket.shut()
        self._unix_socket.close()

    @property
    def stood_s(self) -> float:
        """Seconds since the welcome."""
        return time.monotonic() - self._admitted_at
