"""The server's end of a peer's session, which outlives the streams that carry it.

`StreamPort` calls an agent or an environment; `ExperimentPort` answers a benchmark program. A
stream that breaks may be replaced within the reconnect window. Calls are numbered: the new stream
begins with the number that the peer has reached, and both sides send the rest again. So every
call is carried out once.
"""

from __future__ import annotations

import logging
import math
import threading
import time
from abc import ABC, abstractmethod
from collections import deque
from typing import Any

from google.protobuf.message import DecodeError

from glue_server.processes.event_loop import EventLoop, Task
from glue_server.processes.standstill import LOOK_S, stood_still_s
from glue_server.rpc.peer_streams import PeerStopped, Stream, StreamEnded, Wakeup
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
from reglue.wire.roles import EXPERIMENT, Role

log = logging.getLogger("reglue")

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
    """The common part of all roles' sessions: streams that come and go, and what came over them.

    The driver's thread receives. Other threads bring streams by `attach`, and look by `is_gone`.
    """

    role: Role

    def __init__(self, hello: Any, *, reconnect_window_s: float) -> None:
        self.hello = hello  # how the peer describes itself
        self._why_lost = ""  # why its stream was ended from this side
        self._reconnect_window_s = reconnect_window_s
        self.waited_s = 0.0  # how long the last message lay here before it was received
        self._lock = threading.Lock()
        self._looked: deque[tuple[Any, float]] = deque()  # what looks took in, and when it came
        self._changed = threading.Event()  # for a driver that waits while there is no stream
        self._task: Task | None = None  # it, if it is one
        self._wakeup: Wakeup | None = None  # for one that polls
        self._stream: Stream | None = None
        self._broken_at: float | None = None  # monotonic seconds
        self._stood_still_s = 0.0  # while it was away, this process did not run
        self._was_away_s = 0.0  # before it came back the last time
        self._is_lost = False  # the peer will not come back
        self._is_closed = False

    @property
    def is_gone(self) -> bool:
        """Whether the peer has left for good."""
        for _ in range(_LOOK):
            stream = self._stream
            if stream is None or (message := self._read(stream, 0.0)) is None:
                break
            self._looked.append((message, time.monotonic() - stream.waited_s))
            self._notify()
        return time.monotonic() >= self._gone_at()

    @property
    def is_connected(self) -> bool:
        """Whether a stream is up."""
        return not self.is_gone and self._stream is not None

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

    def attach(self, answered: int, stream: Stream, proof: bytes = b"") -> str | None:
        """A new stream takes over; returns why it cannot.

        `answered` is the number of the last call whose answer its side has sent, or received.
        The `proof` is for the peer.
        """
        with self._lock:
            is_first = self._stream is None and self._broken_at is None
            if self._is_lost or not (is_first or self._reconnect_window_s):
                return NO_TICKET
            if answered not in self._resumable():
                return FORGOTTEN
            stream.begin(proof)
            self._change(stream)
            self._was_away_s, self._broken_at = self._away_s(), None
            self._stood_still_s = 0.0
            # Under the lock: a new message must not overtake what the peer has missed.
            self._resume(stream)
        self._notify()
        return None

    def broke(self, stream: Stream) -> None:
        """The stream is over. Its peer may come back within the reconnect window."""
        with self._lock:
            if stream is self._stream:
                self._change(None)
                self._broken_at = time.monotonic()
                self._is_lost = self._is_lost or self._reconnect_window_s == 0
            else:
                stream.end()
        self._notify()

    def give_up(self) -> None:
        """From now on a peer that leaves does not come back, as its process has ended."""
        with self._lock:
            self._reconnect_window_s = 0.0
        self._notify()

    def send_away(self, reason: str) -> None:
        """End the stream so that the peer joins again.

        A peer that could not come back anyway, without a reconnect window, gets a farewell instead.
        """
        if not self._reconnect_window_s:
            self.close(reason)
        with self._lock:
            self._is_lost = True
            self._change(None)
        self._notify()

    def close(self, reason: str) -> None:
        """Send the farewell, and end the stream behind it."""
        with self._lock:
            if not self._is_closed:
                self._is_closed = True
                self._say_farewell(reason)
                if self._stream is not None:
                    self._stream.end()
            if self._wakeup is not None:
                self._wakeup.close()
                self._wakeup = None

    # What differs between the two; the lock is held.

    @abstractmethod
    def _resumable(self) -> range:
        """The numbers that a new stream may begin with."""

    def _resume(self, stream: Stream) -> None:  # noqa: B027 - a program asks again itself
        """Send again what the peer may have missed."""

    @abstractmethod
    def _repeated(self, content: bytes) -> Repeated | None:
        """The next message, if it is like an earlier one: then protobuf need not read it."""

    @abstractmethod
    def _is_wanted(self, message: Any) -> bool:
        """Whether the driver is to get the message."""

    @abstractmethod
    def _say_farewell(self, reason: str) -> None:
        """Send the farewell, if there is a stream for it."""

    def _receive(self, timeout_s: float) -> Any | None:
        """The next message, `waited_s` after it came; None: none in time, or another stream."""
        self.waited_s = 0.0
        try:
            if self._looked:
                message, came = self._looked.popleft()
                self.waited_s = time.monotonic() - came
                return message
            if (stream := self._stream) is None:
                self._wait_for_stream(timeout_s)
                return None
            message = self._read(stream, timeout_s)
            self.waited_s = stream.waited_s
            return message
        finally:
            if self._wakeup is not None:
                self._show_what_waits()

    def _wait_for_stream(self, timeout_s: float) -> None:
        """Wait until something changes; in an asyncio task, other tasks run meanwhile."""
        if (loop := EventLoop.current()) is not None:
            self._task = loop.task
            if not self._changed.is_set():
                loop.wait(time.monotonic() + timeout_s)
            self._task = None
            self._changed.clear()
            return
        since, timeout_s = time.monotonic(), min(timeout_s, LOOK_S)
        if self._changed.wait(timeout_s):
            self._changed.clear()
        self._stood_still_s += stood_still_s(since, timeout_s)

    def _read(self, stream: Stream, timeout_s: float) -> Any | None:
        """The next wanted message; None: nothing in time, or soon."""
        try:
            if (content := stream.receive(timeout_s)) is None:
                return None
            if (message := self._repeated(content)) is None:
                message = self.role.from_peer.FromString(content)
        except StreamEnded as end:
            self._why_lost = f"; {end}" if isinstance(end, PeerStopped) else ""
            self.broke(stream)
            return None
        except DecodeError as error:
            log.warning("a stream of an %s could not be read: %s", self.role.name, error)
            self.broke(stream)
            return None
        return message if self._takes(stream, message) else None

    def _takes(self, stream: Stream, message: Any) -> bool:
        """Whether the driver is to get what came in. Nothing is taken of a replaced stream."""
        with self._lock:
            return stream is self._stream and self._is_wanted(message)

    def _notify(self) -> None:
        """Let the driver look: a message was taken in, or the stream has changed."""
        self._changed.set()
        if (task := self._task) is not None:
            task.wake()
        if (wakeup := self._wakeup) is not None:
            wakeup.ring()

    def _watched(self) -> Wakeup:
        """The wakeup, made at the first call. The caller holds the lock."""
        if self._wakeup is None:
            self._wakeup = Wakeup(self._stream)
            self._ring_if_held(self._wakeup)
        return self._wakeup

    def _show_what_waits(self) -> None:
        """Make the wakeup show whether there is a message now."""
        if self._wakeup is not None:
            self._wakeup.clear()
            self._ring_if_held(self._wakeup)

    def _ring_if_held(self, wakeup: Wakeup) -> None:
        """Signal the wakeup if there is a message that the stream's descriptor does not show."""
        stream = self._stream
        if self._looked or (stream is not None and stream.holds_message):
            wakeup.ring()

    def _change(self, stream: Stream | None) -> None:
        """Replace the stream by another one or by none. The caller holds the lock."""
        old, self._stream = self._stream, stream
        if self._wakeup is not None:
            self._wakeup.change(old, stream)
        if old is not None:
            old.end()

    def _away_s(self) -> float:
        """`away_s`, for callers that hold the lock."""
        away_s = 0.0 if self._broken_at is None else time.monotonic() - self._broken_at
        return self._was_away_s + away_s

    def _gone_at(self) -> float:
        """Monotonic seconds at which the peer has left for good, unless it comes back before.

        In time in which this process did not run it could not come back.
        """
        broken_at = self._broken_at  # once: threads change it
        if self._is_lost:
            return -math.inf
        window_s = self._reconnect_window_s + self._stood_still_s
        return math.inf if broken_at is None else broken_at + window_s


class ExperimentPort(PeerSession):
    """Answers a benchmark program, which asks one thing at a time.

    A call that comes again after a stream broke gets the answer that was made.
    """

    role = EXPERIMENT

    def __init__(self, hello: ExperimentHello, *, reconnect_window_s: float = 0.0) -> None:
        super().__init__(hello, reconnect_window_s=reconnect_window_s)
        self._taken = 0  # number of the last call that came in
        self._refused_after = -1  # that number, when a call in the wrong order was refused
        self._reply: bytes | None = None  # the last one that was made
        self._replied_over: Stream | None = None  # over which it was sent
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
        if self._stream is not None:
            farewell = session_pb2.Farewell(reason=reason)
            reply = experiment_pb2.ExperimentReply(farewell=farewell)
            self._stream.send(reply.SerializeToString())

    def _put(self, reply: bytes) -> None:
        with self._lock:
            self._reply, self._replied_over = reply, None
            self._repeat(reply)

    def _refuse_order(self, seq: int) -> None:
        """Refuse a call that is not the next one, once a call: a program may send without end."""
        if self._stream is not None and self._refused_after != self._taken:
            self._refused_after = self._taken
            wanted = f"call {self._taken + 1}, once call {self._taken} is answered"
            refused = OutOfOrder(got=f"call {seq}", wanted=wanted)
            self._stream.send(encode_failure(seq, refused).SerializeToString())

    def _repeat(self, reply: bytes) -> None:
        """Send the last reply, once over each stream. The caller holds the lock."""
        if self._stream is not None and self._replied_over is not self._stream:
            self._replied_over = self._stream
            self._stream.send(reply)
