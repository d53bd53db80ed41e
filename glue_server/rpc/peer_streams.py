"""One stream of a session, as the driver's side uses it: over gRPC, or a Unix socket."""

from __future__ import annotations

import contextlib
import logging
import selectors
import socket
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from pathlib import Path
from queue import Empty, SimpleQueue

from glue_server.processes.event_loop import EventLoop
from reglue.net.grpc_settings import grpc
from reglue.net.unix_socket import UnixSocket, UnixSocketEnded
from reglue.v1 import lobby_pb2

log = logging.getLogger("reglue")

STOPPED_S = 20.0  # how long a peer's program may be stopped; over gRPC: MESSAGE_S

_ALONE_S = 0.002  # that a new task may have to wait for one that is alone so far
_LOOK_S = 2.0  # how often a peer's program is looked at
_AHEAD = 8  # messages that gRPC's reader takes in before they are received
_SEND_S = 0.005  # how long the driver waits for a peer that reads slowly
_LAST_S = 2.0  # how long what is left to send may take once a stream has ended


class StreamEnded(Exception):
    """Nothing more comes in over a stream."""


class PeerStopped(StreamEnded):
    """It was ended here, as its peer's program has been stopped for long."""


class Stream(ABC):
    """Whole messages both ways. A session that reconnects gets a new one.

    Any thread sends and ends it. One at a time receives, another one is told that there is nothing.
    """

    waited_s = 0.0
    """Seconds that the last message lay here before it was received, as far as known."""

    def __init__(self) -> None:
        self._receiving = threading.Lock()
        self._has_ended = False

    def begin(self, proof: bytes) -> None:  # noqa: B027 - gRPC's headers say it
        """Tell the peer that it is admitted, before anything else.

        `proof` shows that this glue gave it its ticket.
        """

    @abstractmethod
    def send(self, message: bytes) -> None:
        """Send a message.

        Does not block for long. Send errors are ignored: `receive` reports a broken stream.
        """

    @abstractmethod
    def end(self) -> None:
        """End it behind what was sent. A thread that receives hears of it."""

    @abstractmethod
    def fileno(self) -> int:
        """A descriptor that is readable when something has come; -1 once it has ended."""

    @property
    @abstractmethod
    def holds_message(self) -> bool:
        """Whether a message is here that the descriptor does not show."""

    def receive(self, timeout_s: float) -> bytes | None:
        """The next message; None if none came in time, or soon. Raises StreamEnded.

        Without time there is none while another thread receives. A task lets others run meanwhile.
        """
        if not self._receiving.acquire(blocking=timeout_s > 0):
            return None
        try:
            if self._has_ended:
                raise StreamEnded("it was ended here")
            loop = EventLoop.current() if timeout_s else None
            if loop is None:
                return self._take(min(timeout_s, _LOOK_S))
            return self._take_in_task(loop, min(timeout_s, _LOOK_S))
        finally:
            self._receiving.release()

    @abstractmethod
    def _take(self, timeout_s: float) -> bytes | None:
        """The next message; None if none came in time. Raises StreamEnded."""

    def _take_in_task(self, loop: EventLoop, timeout_s: float) -> bytes | None:
        # With a single task, skip the event loop: it would add 10 % to a light step.
        first_s = min(timeout_s, _ALONE_S) if loop.is_alone or self.holds_message else 0.0
        message = self._take(first_s) if first_s else None
        until = time.monotonic() + timeout_s - first_s
        while message is None and time.monotonic() < until:
            if (descriptor := self.fileno()) < 0:
                raise StreamEnded("it was ended here")
            loop.wait(until, descriptor)
            message = self._take(0.0)
        return message


class GrpcStream(Stream):
    """A stream of gRPC: its handler's thread sends what this yields, another one takes in.

    That one takes in a few messages ahead; then gRPC holds up the peer.
    """

    holds_message = False

    def __init__(self, messages: Iterator[bytes]) -> None:
        """`messages` are what the peer sends."""
        super().__init__()
        self._messages = messages
        self._outbox: SimpleQueue[bytes | None] = SimpleQueue()
        # A message, and when it came; None: it was the last one.
        self._inbox: SimpleQueue[tuple[bytes | None, float]] = SimpleQueue()
        self._room = threading.Semaphore(_AHEAD)
        self._bell: Bell | None = None
        self._belling = threading.Lock()
        threading.Thread(target=self._take_in, name="reglue-reader", daemon=True).start()

    def __iter__(self) -> Iterator[bytes]:
        return iter(self._outbox.get, None)

    def send(self, message: bytes) -> None:
        self._outbox.put(message)

    def end(self) -> None:
        self._has_ended = True
        self._outbox.put(None)
        self._room.release()
        self._put(None)
        with self._receiving, self._belling:
            if self._bell is not None:
                self._bell.close()

    def fileno(self) -> int:
        with self._belling:
            if self._bell is None:
                if self._has_ended:
                    return -1
                self._bell = Bell()
                if not self._inbox.empty():
                    self._bell.ring()
            return self._bell.fileno()

    def _take(self, timeout_s: float) -> bytes | None:
        try:
            message, came = self._inbox.get(timeout_s > 0, timeout_s or None)
        except Empty:
            return None
        if message is None:
            self._put(None)  # it stays readable
            raise StreamEnded("its peer has ended it, or was cut off")
        self._room.release()
        if self._bell is not None and self._inbox.empty():
            self._bell.clear()
            if not self._inbox.empty():  # one came meanwhile
                self._bell.ring()
        self.waited_s = time.monotonic() - came
        return message

    def _take_in(self) -> None:
        try:
            for message in self._messages:
                self._room.acquire()
                if self._has_ended:
                    break
                self._put(message)
        except grpc.RpcError:  # its peer was cut off
            pass
        except Exception:
            log.exception("our own failure broke a stream")
        finally:
            self._put(None)
            self._outbox.put(None)

    def _put(self, message: bytes | None) -> None:
        self._inbox.put((message, time.monotonic()))
        if self._bell is not None:
            self._bell.ring()


class UnixStream(Stream):
    """A Unix socket after its hello.

    What the peer does not read at once is sent by a thread that is started then, so that the
    driver never waits for a peer that does not read.
    """

    def __init__(self, unix_socket: UnixSocket, role: str) -> None:
        super().__init__()
        self._unix_socket = unix_socket
        self._sending = threading.Lock()
        self._pusher: _Pusher | None = None
        self._role = role
        self._pid = unix_socket.peer()
        self._look_at = 0.0  # monotonic seconds, when the peer's process is looked at again
        self._stopped_since: float | None = None

    def begin(self, proof: bytes) -> None:
        self.send(lobby_pb2.UnixSocketWelcome(proof=proof).SerializeToString())

    def send(self, message: bytes) -> None:
        with self._sending:
            if self._has_ended:
                return
            if self._pusher is not None:
                self._pusher.put(message)
                return
            try:
                rest = self._unix_socket.send(message, _SEND_S)
            except UnixSocketEnded:
                return  # the reader sees it too
            if rest:
                self._pusher = _Pusher(self._unix_socket, rest)

    def end(self) -> None:
        with self._sending:
            if self._has_ended:
                return
            self._has_ended = True
            if self._pusher is not None:
                self._pusher.finish(self._close)
            else:
                self._close()

    def fileno(self) -> int:
        return self._unix_socket.fileno()

    @property
    def holds_message(self) -> bool:
        return self._unix_socket.holds_message

    def _take(self, timeout_s: float) -> bytes | None:
        try:
            message = self._unix_socket.receive(timeout_s)
        except UnixSocketEnded as error:
            raise StreamEnded(str(error)) from error
        if message is None:
            self._check_runs()
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

    def _close(self) -> None:
        self._unix_socket.shut()  # wakes its reader
        # Closed once nobody reads it: the descriptor may be another file's at once.
        with self._receiving:
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


class Bell:
    """A descriptor that is readable from `ring` to `clear`."""

    def __init__(self) -> None:
        self._is_rung = False
        self._receiver, self._sender = socket.socketpair()
        for end in (self._receiver, self._sender):
            end.setblocking(False)

    def fileno(self) -> int:
        """-1 once it is closed."""
        return self._receiver.fileno()

    def ring(self) -> None:
        """Something waits."""
        self._is_rung = True
        with contextlib.suppress(OSError):  # it is rung already, or nobody watches any more
            self._sender.send(b"!")

    def clear(self) -> None:
        """Nothing waits. Ask afterwards whether that is so: threads ring at any time."""
        if self._is_rung:
            self._is_rung = False
            with contextlib.suppress(OSError):
                while self._receiver.recv(64):
                    pass

    def close(self) -> None:
        """Let the descriptors go."""
        self._receiver.close()
        self._sender.close()


class Wakeup:
    """A descriptor that is readable when a session's stream is, or after `ring`."""

    def __init__(self, stream: Stream | None) -> None:
        self._bell = Bell()
        self._selector = selectors.DefaultSelector()
        self._selector.register(self._bell, selectors.EVENT_READ)
        self.ring, self.clear = self._bell.ring, self._bell.clear
        self.change(None, stream)

    def fileno(self) -> int:
        """The same as long as it is open."""
        return self._selector.fileno()

    def is_readable(self) -> bool:
        """Whether it is now. Also beyond descriptor 1023, at which select.select fails."""
        return bool(self._selector.select(0))

    def change(self, old: Stream | None, stream: Stream | None) -> None:
        """Watch another stream, before the old one is ended."""
        if old is not None:
            self._selector.unregister(old)
        if stream is not None:
            self._selector.register(stream, selectors.EVENT_READ)

    def close(self) -> None:
        """Let the descriptors go."""
        self._selector.close()
        self._bell.close()
