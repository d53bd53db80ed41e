"""The server's end of a peer's session, which outlives the streams that carry it.

`StreamPort` calls an agent or an environment; `ExperimentPort` answers a benchmark program. A
stream that breaks may be replaced within the reconnect window. Calls are numbered: the new stream
begins with the number that the peer has reached, and both sides send the rest again. So every
call is carried out once.
"""

from __future__ import annotations

import contextlib
import math
import threading
import time
from abc import ABC, abstractmethod
from queue import Empty, SimpleQueue
from typing import Any

from glue_server.processes.event_loop import EventLoop, Task
from glue_server.rpc.connection import (
    ALONE_S,
    Connection,
    ConnectionEnded,
    PeerStopped,
    UnixConnection,
    Wakeup,
)
from reglue.errors import BadReply, OutOfOrder, ReglueError, RoutineRefused
from reglue.messages.agent_messages import INTERRUPTED
from reglue.messages.experiment_messages import Answer, ExperimentCall, ExperimentHello, Stepped
from reglue.messages.value import value
from reglue.spec import TaskSpec
from reglue.v1 import experiment_pb2, session_pb2
from reglue.wire.experiment_encoding import (
    STEP_ALL,
    decode_experiment_call,
    encode_answer,
    encode_failure,
)
from reglue.wire.layout import Repeats
from reglue.wire.repeated_messages import encode_repeated_stepped, is_repeated_step

NO_TICKET = "no such ticket: join again"
FORGOTTEN = "this session has lost its memory: join again"

_LOOK = 8  # most messages that `is_gone` takes in: a peer may send without end


@value
class Repeated:
    """A message that comes again and again, as a layout reads it."""

    seq: int
    content: Any  # the call, or the answer

    def HasField(self, _: str) -> bool:
        """Whether it is a fault or a farewell: never."""
        return False


class PeerSession(ABC):
    """The common part of all roles' sessions: streams that come and go, and an inbox.

    Threads read the streams of gRPC and call `attach`, `arrived` and `broke`. The driver's own
    thread reads a Unix socket, while it waits.
    """

    def __init__(self, hello: Any, *, reconnect_window_s: float) -> None:
        self.hello = hello  # how the peer describes itself
        self._why_lost = ""  # why its stream was ended from this side
        self._reconnect_window_s = reconnect_window_s
        self.waited_s = 0.0  # how long the last message lay here before it was received
        self._lock = threading.Lock()
        # A message, and when it came in; None: the stream has changed.
        self._inbox: SimpleQueue[tuple[Any | None, float]] = SimpleQueue()
        self._wakeup: Wakeup | None = None
        self._task: Task | None = None  # that waits for the inbox
        self._connection: Connection | None = None
        self._broken_at: float | None = None  # monotonic seconds
        self._was_away_s = 0.0  # before it came back the last time
        self._is_lost = False  # the peer will not come back
        self._is_closed = False

    @property
    def is_gone(self) -> bool:
        """Whether the peer has left for good."""
        for _ in range(_LOOK):
            connection = self._connection
            if not isinstance(connection, UnixConnection):
                break
            if (message := self._read(connection, 0.0)) is None:
                break
            self._hand_over(message)
        return time.monotonic() >= self._gone_at()

    @property
    def is_connected(self) -> bool:
        """Whether a stream is up."""
        return not self.is_gone and self._connection is not None

    @property
    def away_s(self) -> float:
        """For how long no stream was up by now, in all, since the first one."""
        if self._broken_at is None:  # which is changed last
            return self._was_away_s
        with self._lock:
            return self._away_s()

    @property
    def reconnect_window_s(self) -> float:
        """Seconds that a peer whose stream broke may take to come back."""
        return self._reconnect_window_s

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
            self._was_away_s, self._broken_at = self._away_s(), None
            # Under the lock: a new message must not overtake what the peer has missed.
            self._resume(connection)
            if not is_first:  # the driver may wait
                self._hand_over(None)
        return None

    def arrived(self, connection: Connection, message: Any) -> None:
        """A message has come in."""
        if self._takes(connection, message):
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

    def send_away(self, reason: str) -> None:
        """End the stream so that the peer joins again.

        A peer that could not come back anyway, without a reconnect window, gets a farewell instead.
        """
        if not self._reconnect_window_s:
            self.close(reason)
        with self._lock:
            self._is_lost = True
            self._change(None)
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

    @abstractmethod
    def _resumable(self) -> range:
        """The numbers that a new stream may begin with."""

    def _resume(self, connection: Connection) -> None:  # noqa: B027 - a program asks again itself
        """Send again what the peer may have missed."""

    @abstractmethod
    def _repeated(self, content: bytes) -> Repeated | None:
        """The next message, if it is like an earlier one: then protobuf need not read it."""

    @abstractmethod
    def _is_wanted(self, message: Any) -> bool:
        """Whether the driver is to get the message."""

    @abstractmethod
    def _say_farewell(self, reason: str) -> None:
        """Put the farewell, if there is a stream for it."""

    def _receive(self, timeout_s: float) -> Any | None:
        """The next message, `waited_s` after it came; None: none in time, or another stream."""
        self.waited_s, connection = 0.0, self._connection
        try:
            if isinstance(connection, UnixConnection) and self._inbox.empty():
                return self._read(connection, timeout_s)
            message, came = self._receive_inbox(timeout_s)
            self.waited_s = time.monotonic() - came
            return message
        except Empty:
            return None
        finally:
            if self._wakeup is not None:
                self._show_inbox()

    def _receive_inbox(self, timeout_s: float) -> tuple[Any | None, float]:
        """The next message that threads have handed over; a task lets others run. Raises Empty."""
        if (loop := EventLoop.current()) is None:
            return self._inbox.get(timeout=timeout_s)
        until = time.monotonic() + timeout_s
        if loop.is_alone:
            with contextlib.suppress(Empty):
                return self._inbox.get(timeout=min(timeout_s, ALONE_S))
        self._task = loop.task
        try:
            while self._inbox.empty() and time.monotonic() < until:
                loop.wait(until)
            return self._inbox.get_nowait()
        finally:
            self._task = None

    def _read(self, connection: UnixConnection, timeout_s: float) -> Any | None:
        """The next wanted message of a Unix socket; None: nothing in time, or soon."""
        try:
            if (content := connection.take(timeout_s)) is None:
                return None
            if (message := self._repeated(content)) is None:
                message = connection.parsed(content)
        except ConnectionEnded as end:
            self._why_lost = f"; {end}" if isinstance(end, PeerStopped) else ""
            self.broke(connection)
            return None
        return message if self._takes(connection, message) else None

    def _takes(self, connection: Connection, message: Any) -> bool:
        """Whether the driver is to get what came in. Nothing is taken of a replaced stream."""
        with self._lock:
            return connection is self._connection and self._is_wanted(message)

    def _hand_over(self, message: Any | None) -> None:
        """Give it to the driver; None: the stream has changed."""
        self._inbox.put((message, time.monotonic()))
        if self._wakeup is not None:
            self._wakeup.set()
        if (task := self._task) is not None:
            task.wake()

    def _show_inbox(self) -> None:
        """Let the wakeup show what is here now."""
        if self._wakeup is not None:
            self._wakeup.clear()
            self._wake(self._wakeup)

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

    def _away_s(self) -> float:
        """Like `away_s`, the lock being held."""
        away_s = 0.0 if self._broken_at is None else time.monotonic() - self._broken_at
        return self._was_away_s + away_s

    def _gone_at(self) -> float:
        """Monotonic seconds at which the peer has left for good, unless it comes back before."""
        broken_at = self._broken_at  # once: threads change it
        if self._is_lost:
            return -math.inf
        return math.inf if broken_at is None else broken_at + self._reconnect_window_s


class ExperimentPort(PeerSession):
    """Answers a benchmark program, which asks one thing at a time.

    A call that comes again after a stream broke gets the answer that was made.
    """

    def __init__(self, hello: ExperimentHello, *, reconnect_window_s: float = 0.0) -> None:
        super().__init__(hello, reconnect_window_s=reconnect_window_s)
        self._taken = 0  # number of the last call that came in
        self._refused_after = -1  # that number, when a call in the wrong order was refused
        self._reply: bytes | None = None  # the last one that was made
        self._replied_over: Connection | None = None  # over which it was sent
        self.why_gone = "the experiment has left"
        self._spec: TaskSpec | None = None
        self._steps = Repeats()

    def next(self, timeout_s: float) -> ExperimentCall | None:
        """The next call; None: none in `timeout_s` seconds, or soon. A malformed one is refused."""
        deadline = time.monotonic() + timeout_s
        while (left_s := deadline - time.monotonic()) > 0:
            if (message := self._receive(left_s)) is None:
                return None
            if type(message) is Repeated:
                call: ExperimentCall = message.content
                return call
            try:
                return decode_experiment_call(message, self._spec)
            except BadReply as bad:
                refused = RoutineRefused(got=bad.got, wanted=bad.wanted)
                refused.code = bad.code
                self.fail(refused)
        return None

    def answer(self, answer: Answer) -> None:
        """Answer the last call."""
        if isinstance(answer, TaskSpec):
            self._spec, self._steps = answer, Repeats()
        if type(answer) is Stepped and answer.actions and self._spec is not None:
            reply = encode_repeated_stepped(self._taken, answer, self._spec, self._steps)
        else:
            reply = encode_answer(self._taken, answer, self._spec).SerializeToString()
        self._put(reply)

    def fail(self, error: ReglueError) -> None:
        """Answer the last call by what went wrong."""
        self._put(encode_failure(self._taken, error).SerializeToString())

    def _resumable(self) -> range:
        return range(self._taken - 1, self._taken + 1)

    def _repeated(self, content: bytes) -> Repeated | None:
        seq = self._taken + 1
        return Repeated(seq, STEP_ALL) if is_repeated_step(seq, content) else None

    def _is_wanted(self, message: Any) -> bool:
        """Whether it is the next call. The last call once more gets its answer once more."""
        if type(message) is not Repeated and message.HasField("farewell"):
            self._is_lost = True
            if message.farewell.reason == INTERRUPTED:
                self.why_gone = "the experiment was interrupted"
            self._hand_over(None)
            return False
        is_free = self._taken == 0 or self._reply is not None
        if message.seq == self._taken + 1 and is_free:
            self._taken, self._reply = message.seq, None
            return True
        if message.seq == self._taken and self._reply is not None:
            self._repeat(self._reply)
        if message.seq > self._taken:
            self._refuse_order(message.seq)
        return False

    def _say_farewell(self, reason: str) -> None:
        self._is_lost = True  # a program that comes back is told to join again
        if self._connection is not None:
            farewell = session_pb2.Farewell(reason=reason)
            reply = experiment_pb2.ExperimentReply(farewell=farewell)
            self._connection.put(reply.SerializeToString())

    def _put(self, reply: bytes) -> None:
        with self._lock:
            self._reply, self._replied_over = reply, None
            self._repeat(reply)

    def _refuse_order(self, seq: int) -> None:
        """Refuse a call that is not the next one, once a call: a program may send without end."""
        if self._connection is not None and self._refused_after != self._taken:
            self._refused_after = self._taken
            wanted = f"call {self._taken + 1}, once call {self._taken} is answered"
            refused = OutOfOrder(got=f"call {seq}", wanted=wanted)
            self._connection.put(encode_failure(seq, refused).SerializeToString())

    def _repeat(self, reply: bytes) -> None:
        """Send the last reply, once over each stream, the lock being held."""
        if self._connection is not None and self._replied_over is not self._connection:
            self._replied_over = self._connection
            self._connection.put(reply)
