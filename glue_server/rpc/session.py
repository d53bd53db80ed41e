"""A peer at the other end of streams: one that answers, or one that asks."""

from __future__ import annotations

import contextlib
import selectors
import socket
import threading
import time
from collections import deque
from collections.abc import Sequence
from queue import Empty, SimpleQueue
from typing import Any, Generic, Protocol, TypeVar

from glue_server.rpc.admission import FORGOTTEN, NO_TICKET, Denied
from glue_server.rpc.connection import LOOK, Connection, ConnectionEnded, UnixConnection
from reglue.errors import BadReply, ReglueError, RoutineRefused
from reglue.messages.agent import UNLIMITED, Budget, Farewell, Refusal
from reglue.messages.experiment import Answer, ExperimentCall, ExperimentHello
from reglue.net.grpc_settings import grpc
from reglue.spec import TaskSpec
from reglue.v1 import experiment_pb2 as pb
from reglue.v1 import session_pb2
from reglue.wire.experiment import decode_experiment_call, encode_answer, encode_failure

WINDOW = 8
"""Most calls under way at once; peers remember as many answers."""

HelloT = TypeVar("HelloT")
CallT = TypeVar("CallT")
ReplyT = TypeVar("ReplyT")
CallT_contra = TypeVar("CallT_contra", contravariant=True)
ReplyT_co = TypeVar("ReplyT_co", covariant=True)


class Codec(Protocol[CallT_contra, ReplyT_co]):
    """How one role's calls are written and its answers are read."""

    def encode(self, seq: int, call: CallT_contra | Refusal | Farewell, budget: Budget) -> Any:
        """The message of a call. Raises UsageError for one that is too large."""

    def decode(self, message: Any, call: CallT_contra) -> ReplyT_co:
        """The answer to `call`. Raises BadReply, and the peer's fault if it says so."""

    def timed_out(self, timeout_s: float) -> ReglueError:
        """The peer did not answer in time."""

    def lost(self) -> ReglueError:
        """The peer is gone."""


class StreamPort(Generic[HelloT, CallT, ReplyT]):
    """The driver's end of one session.

    gRPC's streams have threads of their own, which fill and drain it; a Unix socket is read by
    whoever waits in `receive`.
    """

    replayed = 0  # steps: a remote environment simulates none twice

    def __init__(
        self, hello: HelloT, dialect: Codec[CallT, ReplyT], *, reconnect_window_s: float = 0.0
    ) -> None:
        self.hello = hello
        self.waited_s = 0.0  # how long the last answer lay here before it was received
        self._dialect = dialect
        self._reconnect_window_s = reconnect_window_s
        self._lock = threading.Lock()
        # A message, and when it came in; None: the stream has changed.
        self._inbox: SimpleQueue[tuple[Any | None, float]] = SimpleQueue()
        self._watch: Wakeup | None = None
        self._line: Connection | None = None
        self._unheard: deque[tuple[int, Any]] = deque()  # messages that may have to be sent again
        self._waiting: dict[int, CallT] = {}  # calls whose answer is waited for, by number
        self._sent = 0  # number of the last message
        self._heard = 0  # number of the last call whose answer has come
        self._unasked = 0  # messages since the last call that answered none
        self._broken_at: float | None = None
        self._lost = False  # nobody will come back
        self._closed = False
        self._has_failed = False

    # What the driver calls.

    def send(self, call: CallT, budget: Budget = UNLIMITED) -> None:
        """Number the call and send it, up to WINDOW calls before their answers.

        Raises the peer's loss, UsageError (too large).
        """
        assert len(self._waiting) < WINDOW, "receive() an answer first"
        if self._lost:
            raise self._dialect.lost()
        message = self._dialect.encode(self._sent + 1, call, budget)
        with self._lock:
            self._waiting[self._sent + 1] = call
            self._unasked = 0
            self._post(message)

    def receive(self, timeout_s: float) -> ReplyT:
        """The answer to the oldest call that waits for one.

        Raises BadReply (it does not fit; the session goes on), and the peer's fault,
        delay or loss.
        """
        deadline = time.monotonic() + timeout_s
        seq = next(iter(self._waiting))
        while True:
            message, came = self._next(deadline, timeout_s)
            self.waited_s = time.monotonic() - came
            if message is not None and (message.seq == seq or message.HasField("fault")):
                return self._dialect.decode(message, self._waiting.pop(seq))

    def refuse(self, refused: BadReply) -> None:
        """Tell the peer that its last answer was not taken."""
        refusal = Refusal(self._heard, refused.code, refused.got, refused.wanted)
        message = self._dialect.encode(self._sent + 1, refusal, UNLIMITED)
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

    def close(self, reason: str) -> None:
        """Send the farewell, and end the stream behind it."""
        message = self._dialect.encode(self._sent + 1, Farewell(reason), UNLIMITED)
        with self._lock:
            if self._closed:
                return
            self._closed = True
            self._post(message)
            if self._line is not None:
                self._line.end()
            if self._watch is not None:
                self._watch.close()
                self._watch = None

    @property
    def is_gone(self) -> bool:
        """Whether the peer has left for good. Asked by the driver, or before there is one."""
        for _ in range(LOOK):
            line = self._line
            if not isinstance(line, UnixConnection) or self._waiting or not self._read(line, 0.0):
                break
        with self._lock:
            gone, broken_at = self._lost, self._broken_at
        return gone or (
            broken_at is not None and time.monotonic() >= broken_at + self._reconnect_window_s
        )

    # What the streams' threads call.

    def attach(self, answered: int, line: Connection) -> None:
        """A new stream takes over. Raises Denied if its side has lost its memory."""
        with self._lock:
            is_first = self._line is None and self._broken_at is None
            if self._lost or not (is_first or self._reconnect_window_s):
                raise Denied(grpc.StatusCode.UNAUTHENTICATED, NO_TICKET)
            if not self._heard <= answered <= self._sent:
                raise Denied(grpc.StatusCode.UNAUTHENTICATED, FORGOTTEN)
            self._change(line)
            self._broken_at = None
            for _, message in self._unheard:
                line.put(message)
            if self._closed:
                line.end()
        self._inbox.put((None, time.monotonic()))

    def arrived(self, line: Connection, message: Any) -> None:
        """A reply has come in; only those that are waited for are kept.

        Late answers, and repeats, are a few. Who sends more floods, and is not to come back.
        """
        with self._lock:
            if line is not self._line:
                return
            if not self._is_wanted(message):
                self._unasked += 1
                if self._unasked <= (WINDOW if self._sent else 0):
                    return
                self._lost = True
                self._change(None)
                message = None
        self._come(message)

    def broke(self, line: Connection) -> None:
        """The stream is over; its peer may come back within the reconnect window."""
        with self._lock:
            if line is self._line:
                self._change(None)
                self._broken_at = time.monotonic()
                self._lost = self._lost or self._reconnect_window_s == 0
            else:
                line.end()
        self._come(None)

    def give_up(self) -> None:
        """Who leaves now will not come back, as one knows who sees its process end."""
        with self._lock:
            self._reconnect_window_s = 0.0
        self._come(None)

    @property
    def has_line(self) -> bool:
        """Whether a stream is up."""
        self.is_gone  # noqa: B018 - looks
        return self._line is not None

    def _watched(self) -> Wakeup:
        """Made when it is first asked for, the lock being held."""
        if self._watch is None:
            self._watch = Wakeup(self._line)
        return self._watch

    def _is_wanted(self, message: Any) -> bool:
        """Whether it answers a call for the first time, the lock being held; then it is heard.

        A fault may come of its own accord.
        """
        if message.HasField("fault"):
            self._lost = True  # it leaves
            first, self._has_failed = not self._has_failed, True
            return first
        seq = message.seq
        if seq <= self._heard or seq not in self._waiting:
            return False
        while self._unheard and self._unheard[0][0] <= seq:
            self._unheard.popleft()
        self._heard = seq
        return True

    def _post(self, message: Any) -> None:
        """Send a message, the lock being held."""
        self._sent += 1
        self._unheard.append((self._sent, message))
        if self._line is not None:
            self._line.put(message)

    def _next(self, deadline: float, timeout_s: float) -> tuple[Any | None, float]:
        """What comes in next, and when. Raises when time is up, or nobody will come back."""
        self.waited_s = 0.0
        with self._lock:
            gone, broken_at, line = self._lost, self._broken_at, self._line
        until = deadline
        if broken_at is not None:
            until = min(deadline, broken_at + self._reconnect_window_s)
        # What came in before the peer left still counts.
        left_s = 0.0 if gone else max(0.0, until - time.monotonic())
        if isinstance(line, UnixConnection) and self._inbox.empty():
            self._read(line, left_s)
            left_s = 0.0
        try:
            return self._inbox.get(timeout=left_s)
        except Empty:
            pass
        finally:
            if self._watch is not None:
                self._watch.hush(self._inbox)
        if gone or (
            broken_at is not None and time.monotonic() >= broken_at + self._reconnect_window_s
        ):
            self._give_up()
            raise self._dialect.lost()
        if time.monotonic() >= deadline:
            self._waiting.pop(next(iter(self._waiting)))  # a late answer is dropped
            raise self._dialect.timed_out(timeout_s)
        return None, time.monotonic()

    def _read(self, line: UnixConnection, timeout_s: float) -> bool:
        """Take in what comes over the line; whether something did."""
        try:
            message = line.take(timeout_s)
        except ConnectionEnded:
            self.broke(line)
            return False
        if message is not None:
            self.arrived(line, message)
        return message is not None

    def _come(self, message: Any | None) -> None:
        """Hand it to the driver."""
        self._inbox.put((message, time.monotonic()))
        if self._watch is not None:
            self._watch.ring()

    def _change(self, line: Connection | None) -> None:
        """Go on with another line, or none, the lock being held."""
        old, self._line = self._line, line
        if self._watch is not None:
            self._watch.change(old, line)
        if old is not None:
            old.end()

    def _give_up(self) -> None:
        with self._lock:
            if self._line is None:
                self._lost = True
                self._waiting.clear()


class ExperimentPort:
    """The glue's end of one program's session."""

    def __init__(self, hello: ExperimentHello, *, reconnect_window_s: float = 0.0) -> None:
        self.hello = hello
        self._reconnect_window_s = reconnect_window_s
        self._lock = threading.Lock()
        self._inbox: SimpleQueue[pb.ExperimentCall | None] = SimpleQueue()
        self._line: Connection | None = None
        self._taken = 0  # number of the last call that came in
        self._reply: pb.ExperimentReply | None = None  # the last one that was made
        self._told: Connection | None = None  # over which it was sent
        self._spec: TaskSpec | None = None
        self._broken_at: float | None = None
        self._has_left = False
        self._closed = False

    # What the driver calls.

    def next(self, timeout_s: float) -> ExperimentCall | None:
        """The next call; None if none came in `timeout_s` seconds. A malformed one is refused."""
        deadline = time.monotonic() + timeout_s
        while (left_s := deadline - time.monotonic()) > 0:
            line = self._line
            if isinstance(line, UnixConnection) and self._inbox.empty():
                self._read(line, left_s)
                left_s = 0.0
            try:
                message = self._inbox.get(timeout=left_s)
            except Empty:
                continue
            if message is None:  # the stream has changed
                return None
            try:
                return decode_experiment_call(message, self._spec)
            except BadReply as bad:
                self.fail(_refused(bad))
        return None

    @property
    def is_gone(self) -> bool:
        """Whether the program has left for good. Asked by the driver, or before there is one."""
        for _ in range(LOOK):
            line = self._line
            if not isinstance(line, UnixConnection) or not self._read(line, 0.0):
                break
        with self._lock:
            gone, broken_at = self._has_left, self._broken_at
        return gone or (
            broken_at is not None and time.monotonic() >= broken_at + self._reconnect_window_s
        )

    def answer(self, answer: Answer) -> None:
        """Answer the last call."""
        if isinstance(answer, TaskSpec):
            self._spec = answer
        self._put(encode_answer(self._taken, answer, self._spec))

    def fail(self, error: ReglueError) -> None:
        """Answer the last call by what went wrong."""
        self._put(encode_failure(self._taken, error))

    def close(self, reason: str) -> None:
        """Say farewell."""
        farewell = pb.ExperimentReply(farewell=session_pb2.Farewell(reason=reason))
        with self._lock:
            if not self._closed and self._line is not None:
                self._line.put(farewell)
                self._line.end()
            self._closed = True

    # What the streams' threads call.

    def attach(self, answered: int, line: Connection) -> None:
        """A new stream takes over. Raises Denied if its side has lost its memory."""
        with self._lock:
            is_first = self._line is None and self._broken_at is None
            if self._closed or not (is_first or self._reconnect_window_s):
                raise Denied(grpc.StatusCode.UNAUTHENTICATED, NO_TICKET)
            if not self._taken - 1 <= answered <= self._taken:
                raise Denied(grpc.StatusCode.UNAUTHENTICATED, FORGOTTEN)
            if self._line is not None:
                self._line.end()
            self._line, self._broken_at = line, None
        self._inbox.put(None)

    def arrived(self, line: Connection, message: Any) -> None:
        """A call has come in: the next one, or the last one once more."""
        with self._lock:
            if line is not self._line:
                return
            if message.HasField("farewell"):
                self._has_left = True
                self._inbox.put(None)
                return
            is_free = self._taken == 0 or self._reply is not None
            if message.seq == self._taken + 1 and is_free:
                self._taken, self._reply = message.seq, None
                self._inbox.put(message)
            elif message.seq == self._taken and self._reply is not None:
                self._repeat(self._reply)

    def broke(self, line: Connection) -> None:
        """The stream is over; the program may come back within the reconnect window."""
        line.end()
        with self._lock:
            if line is not self._line:
                return
            self._line, self._broken_at = None, time.monotonic()
        self._inbox.put(None)

    def give_up(self) -> None:
        """Who leaves now will not come back, as one knows who sees its process end."""
        with self._lock:
            self._reconnect_window_s = 0.0
        self._inbox.put(None)

    @property
    def has_line(self) -> bool:
        """Whether a stream is up."""
        self.is_gone  # noqa: B018 - looks
        return self._line is not None

    def _read(self, line: UnixConnection, timeout_s: float) -> bool:
        """Take in what comes over the line; whether something did."""
        try:
            message = line.take(timeout_s)
        except ConnectionEnded:
            self.broke(line)
            return False
        if message is not None:
            self.arrived(line, message)
        return message is not None

    def _put(self, reply: pb.ExperimentReply) -> None:
        with self._lock:
            self._reply, self._told = reply, None
            self._repeat(reply)

    def _repeat(self, reply: pb.ExperimentReply) -> None:
        """Send the last reply, once over each stream, the lock being held."""
        if self._line is not None and self._told is not self._line:
            self._told = self._line
            self._line.put(reply)


def _refused(bad: BadReply) -> RoutineRefused:
    refused = RoutineRefused(got=bad.got, wanted=bad.wanted)
    refused.code = bad.code
    return refused


class Wakeup:
    """Readable after `ring`, or when something has come over the watched Unix socket."""

    def __init__(self, line: Connection | None) -> None:
        self._selector = selectors.DefaultSelector()
        self._rings = False
        self._bell, self._rope = socket.socketpair()
        for end in (self._bell, self._rope):
            end.setblocking(False)
        self._selector.register(self._bell, selectors.EVENT_READ)
        self.change(None, line)

    def fileno(self) -> int:
        """The same as long as it is open."""
        return self._selector.fileno()

    def is_readable(self) -> bool:
        """Whether it is now. Also beyond descriptor 1023, where select.select fails."""
        return bool(self._selector.select(0))

    def change(self, old: Connection | None, line: Connection | None) -> None:
        """Another line, before the old one is ended."""
        if isinstance(old, UnixConnection):
            self._selector.unregister(old)
        if isinstance(line, UnixConnection):
            self._selector.register(line, selectors.EVENT_READ)

    def ring(self) -> None:
        """Something waits."""
        self._rings = True
        with contextlib.suppress(OSError):  # it rings already, or nobody watches any more
            self._rope.send(b"!")

    def hush(self, inbox: SimpleQueue[Any]) -> None:
        """Ring no more, unless something waits in there."""
        if not self._rings:
            return
        self._rings = False
        with contextlib.suppress(OSError):
            while self._bell.recv(64):
                pass
        if not inbox.empty():
            self.ring()

    def close(self) -> None:
        """Let the descriptors go."""
        self._selector.close()
        self._bell.close()
        self._rope.close()
