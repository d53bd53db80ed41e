"""The server's end of a peer's session, which outlives the streams that carry it.

`StreamPort` calls an agent or an environment; `roles.ExperimentPort` answers a benchmark program. A
stream that breaks may be replaced within the reconnect window. Calls are numbered: the new stream
begins with the number that the peer has reached, and both sides send the rest again. So every
call is carried out once.
"""

from __future__ import annotations

import math
import threading
import time
from collections import deque
from collections.abc import Sequence
from queue import Empty, SimpleQueue
from typing import Any, Protocol

from glue_server.rpc.connection import Connection, ConnectionEnded, UnixConnection, Wakeup
from reglue.errors import BadReply, ReglueError
from reglue.messages.agent import UNLIMITED, Budget, Farewell, Refusal

WINDOW = 8
"""Most calls under way at once; peers remember as many answers."""

NO_TICKET = "no such ticket: join again"
FORGOTTEN = "this session has lost its memory: join again"

_LOOK = 8  # most messages that `is_gone` takes in: a peer may send without end


class PeerSession:
    """What the sessions of all roles share: streams that come and go, and what came in.

    Threads read the streams of gRPC and call `attach`, `arrived` and `broke`. The driver's own
    thread reads a Unix socket, while it waits.
    """

    def __init__(self, hello: Any, *, reconnect_window_s: float) -> None:
        self.hello = hello  # what the peer said of itself
        self._reconnect_window_s = reconnect_window_s
        self._lock = threading.Lock()
        # A message, and when it came in; None: the stream has changed.
        self._inbox: SimpleQueue[tuple[Any | None, float]] = SimpleQueue()
        self._wakeup: Wakeup | None = None
        self._connection: Connection | None = None
        self._broken_at: float | None = None  # monotonic seconds
        self._is_lost = False  # the peer will not come back
        self._is_closed = False

    @property
    def is_gone(self) -> bool:
        """Whether the peer has left for good."""
        for _ in range(_LOOK):
            if not self._read(0.0):
                break
        return time.monotonic() >= self._gone_at()

    @property
    def is_connected(self) -> bool:
        """Whether a stream is up."""
        return not self.is_gone and self._connection is not None

    def attach(self, answered: int, connection: Connection) -> str | None:
        """A new stream takes over; returns why it cannot.

        `answered` is the number of the last call whose answer its side has sent, or received.
        """
        with self._lock:
            is_first = self._connection is None and self._broken_at is None
            if self._is_lost or not (is_first or self._reconnect_window_s):
                return NO_TICKET
            if answered not in self._resumable():
                return FORGOTTEN
            self._change(connection)
            self._broken_at = None
            self._resume(connection)
            if not is_first:  # the driver may wait
                self._inbox.put((None, time.monotonic()))
        return None

    def arrived(self, connection: Connection, message: Any) -> None:
        """A message has come in. Those of a stream that was replaced are dropped."""
        with self._lock:
            if connection is self._connection and self._is_wanted(message):
                self._hand_over(message)

    def broke(self, connection: Connection) -> None:
        """The stream is over. Its peer may come back within the reconnect window."""
        with self._lock:
            if connection is self._connection:
                self._change(None)
                self._broken_at = time.monotonic()
                self._is_lost = self._is_lost or self._reconnect_window_s == 0
            else:
                connection.end()
        self._hand_over(None)

    def give_up(self) -> None:
        """From now on a peer that leaves does not come back, as its process has ended."""
        with self._lock:
            self._reconnect_window_s = 0.0
        self._hand_over(None)

    def close(self, reason: str) -> None:
        """Send the farewell, and end the stream behind it."""
        with self._lock:
            if not self._is_closed:
                self._is_closed = True
                self._say_farewell(reason)
                if self._connection is not None:
                    self._connection.end()
            if self._wakeup is not None:
                self._wakeup.close()
                self._wakeup = None

    # What differs between the two; the lock is held.

    def _resumable(self) -> range:
        """The numbers that a new stream may begin with."""
        raise NotImplementedError

    def _resume(self, connection: Connection) -> None:
        """Send again what the peer may have missed."""

    def _is_wanted(self, message: Any) -> bool:
        """Whether the driver is to get the message."""
        raise NotImplementedError

    def _say_farewell(self, reason: str) -> None:
        raise NotImplementedError

    def _next(self, timeout_s: float) -> tuple[Any | None, float] | None:
        """What comes in next, and when; None if nothing came in time, or soon."""
        if isinstance(self._connection, UnixConnection) and self._inbox.empty():
            self._read(timeout_s)
            timeout_s = 0.0
        try:
            return self._inbox.get(timeout=timeout_s)
        except Empty:
            return None
        finally:
            if self._wakeup is not None:
                self._wakeup.clear()
                self._wake(self._wakeup)

    def _read(self, timeout_s: float) -> bool:
        """Take in what comes over a Unix socket; whether anything did."""
        connection = self._connection
        if not isinstance(connection, UnixConnection):
            return False
        try:
            message = connection.take(timeout_s)
        except ConnectionEnded:
            self.broke(connection)
            return False
        if message is not None:
            self.arrived(connection, message)
        return message is not None

    def _hand_over(self, message: Any | None) -> None:
        """Give it to the driver; None: the stream has changed."""
        self._inbox.put((message, time.monotonic()))
        if self._wakeup is not None:
            self._wakeup.set()

    def _wake(self, wakeup: Wakeup) -> None:
        """Set it if something is here that the socket's descriptor does not show."""
        connection = self._connection
        is_held = isinstance(connection, UnixConnection) and connection.holds_message
        if is_held or not self._inbox.empty():
            wakeup.set()

    def _change(self, connection: Connection | None) -> None:
        """Go on with another stream, or without one, the lock being held."""
        old, self._connection = self._connection, connection
        if self._wakeup is not None:
            self._wakeup.change(old, connection)
        if old is not None:
            old.end()

    def _gone_at(self) -> float:
        """When the peer has left for good, monotonic seconds, unless it comes back before."""
        broken_at = self._broken_at  # once: threads change it
        if self._is_lost:
            return -math.inf
        return math.inf if broken_at is None else broken_at + self._reconnect_window_s


class Codec(Protocol):
    """How one role's calls, Refusal and Farewell are encoded, and its answers decoded."""

    def encode(self, seq: int, call: Any, budget: Budget) -> Any:
        """The message of a call. Raises UsageError for one that is too large."""

    def decode(self, message: Any, call: Any) -> Any:
        """The answer to `call`. Raises BadReply, and the peer's fault if it says so."""

    def timed_out(self, timeout_s: float) -> ReglueError:
        """The error of a peer that did not answer in time."""

    def lost(self) -> ReglueError:
        """The error of a peer that is gone."""


class StreamPort(PeerSession):
    """Calls an agent or an environment. Keeps each call until its answer has come."""

    replayed = 0  # steps: a remote environment simulates none twice

    def __init__(self, hello: Any, codec: Codec, *, reconnect_window_s: float = 0.0) -> None:
        super().__init__(hello, reconnect_window_s=reconnect_window_s)
        self.waited_s = 0.0  # how long the last answer lay here before it was received
        self._codec = codec
        self._unheard: deque[tuple[int, Any]] = deque()  # messages that may have to be sent again
        self._waiting: dict[int, Any] = {}  # calls whose answer is waited for, by number
        self._sent = 0  # number of the last message
        self._heard = 0  # number of the last call whose answer has come
        self._unasked = 0  # messages since the last call that answered none
        self._has_failed = False

    def send(self, call: Any, budget: Budget = UNLIMITED) -> None:
        """Number the call and send it, up to WINDOW calls before their answers.

        Raises the peer's loss, UsageError (too large).
        """
        assert len(self._waiting) < WINDOW, "receive() an answer first"
        if self._is_lost:
            raise self._codec.lost()
        message = self._codec.encode(self._sent + 1, call, budget)
        with self._lock:
            self._waiting[self._sent + 1] = call
            self._unasked = 0
            self._post(message)

    def receive(self, timeout_s: float) -> Any:
        """The answer to the oldest call that waits for one.

        Raises BadReply (it does not fit; the session goes on), and the peer's fault,
        delay or loss.
        """
        deadline = time.monotonic() + timeout_s
        seq = next(iter(self._waiting))
        while True:
            self.waited_s = 0.0
            # What came in before the peer left still counts.
            gone_at = self._gone_at()
            found = self._next(max(0.0, min(deadline, gone_at) - time.monotonic()))
            if found is None:
                self._check_time(seq, gone_at, deadline, timeout_s)
                continue
            message, came = found
            self.waited_s = time.monotonic() - came
            if message is not None and (message.seq == seq or message.HasField("fault")):
                return self._codec.decode(message, self._waiting.pop(seq))

    def refuse(self, refused: BadReply) -> None:
        """Tell the peer that its last answer was not taken."""
        refusal = Refusal(self._heard, refused.code, refused.got, refused.wanted)
        message = self._codec.encode(self._sent + 1, refusal, UNLIMITED)
        with self._lock:
            self._post(message)

    def filenos(self) -> Sequence[int]:
        """Readable when an answer has come, or the beginning of one, or the stream broke."""
        with self._lock:
            return (self._watched().fileno(),)

    def is_ready(self) -> bool:
        """Whether one of those waits."""
        with self._lock:
            return self._watched().is_readable()

    def _watched(self) -> Wakeup:
        """Made when it is first asked for, the lock being held."""
        if self._wakeup is None:
            self._wakeup = Wakeup(self._connection)
            self._wake(self._wakeup)
        return self._wakeup

    def _check_time(self, seq: int, gone_at: float, deadline: float, timeout_s: float) -> None:
        """Raise the peer's loss, or its delay, where it is time."""
        now = time.monotonic()
        if now >= gone_at:
            with self._lock:
                if self._connection is None:
                    self._is_lost = True
                    self._waiting.clear()
            raise self._codec.lost()
        if now >= deadline:
            del self._waiting[seq]  # a late answer is dropped
            raise self._codec.timed_out(timeout_s)

    def _resumable(self) -> range:
        return range(self._heard, self._sent + 1)

    def _resume(self, connection: Connection) -> None:
        for _, message in self._unheard:
            connection.put(message)
        if self._is_closed:
            connection.end()

    def _is_wanted(self, message: Any) -> bool:
        """Whether it answers a call for the first time, or is a fault, which comes unasked.

        Late answers, and repeats, are a few. A peer that sends more floods us: it is lost.
        """
        if message.HasField("fault"):
            self._is_lost = True  # it leaves
            first, self._has_failed = not self._has_failed, True
            return first or self._is_unasked()
        seq = message.seq
        if seq <= self._heard or seq not in self._waiting:
            return self._is_unasked()
        while self._unheard and self._unheard[0][0] <= seq:
            self._unheard.popleft()
        self._heard = seq
        return True

    def _is_unasked(self) -> bool:
        """Count a message that nobody waits for; never wanted."""
        self._unasked += 1
        if self._unasked > (WINDOW if self._sent else 0):
            self._is_lost = True
            self._change(None)
            self._hand_over(None)
        return False

    def _post(self, message: Any) -> None:
        """Send a message, the lock being held."""
        self._sent += 1
        self._unheard.append((self._sent, message))
        if self._connection is not None:
            self._connection.put(message)

    def _say_farewell(self, reason: str) -> None:
        self._post(self._codec.encode(self._sent + 1, Farewell(reason), UNLIMITED))
