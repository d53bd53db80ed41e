"""A benchmark program at the other end of streams, gRPC's or Unix sockets: it asks, we answer.

The program asks one thing at a time and numbers it. A call that comes again after a
stream broke is not carried out again: it gets the answer that was made.
"""

from __future__ import annotations

import threading
import time
from queue import Empty, SimpleQueue
from typing import Any

from glue_server.rpc.admission import FORGOTTEN, NO_TICKET, Denied
from glue_server.rpc.connection import LOOK, Connection, ConnectionEnded
from glue_server.rpc.unix_connection import UnixConnection
from reglue.errors import BadReply, ReglueError, RoutineRefused
from reglue.messages.experiment import Answer, ExperimentCall, ExperimentHello
from reglue.net.grpc_settings import grpc
from reglue.spec import TaskSpec
from reglue.v1 import experiment_pb2 as pb
from reglue.v1 import session_pb2
from reglue.wire.experiment import (
    decode_experiment_call,
    encode_answer,
    encode_failure,
)


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
