"""A peer's sessions: join, say hello, answer calls or ask, come back, leave."""

from __future__ import annotations

import contextlib
import logging
import threading
import time
from collections import OrderedDict
from collections.abc import Iterator
from queue import Empty, SimpleQueue
from typing import Any

from reglue.errors import (
    BadReply,
    OutOfDomain,
    ReglueError,
    SessionLost,
    SpecError,
    UsageError,
    WrongToken,
    printable,
)
from reglue.messages.agent import Farewell, Numbered, Refusal
from reglue.messages.experiment import Answer, ExperimentCall
from reglue.net.grpc_settings import grpc
from reglue.net.join_string import JoinString, Transport
from reglue.net.lobby import backoff, hello_proof, join
from reglue.net.roles import RoleAdapter
from reglue.net.streams import GrpcStream, Route, Stream, StreamEnded
from reglue.spec import TaskSpec
from reglue.v1 import experiment_pb2 as pb
from reglue.v1 import experiment_pb2_grpc, lobby_pb2, session_pb2
from reglue.version import PROTOCOL_MAJOR, PROTOCOL_MINOR, sdk
from reglue.wire.experiment import decode_answer, encode_experiment_call

log = logging.getLogger("reglue")

WINDOW = 8
"""Answers that are remembered: as many calls may be under way at once."""

_FAREWELL_S = 5.0  # how long a faulted peer waits for the glue's last word
_END_S = 2.0  # and for one that was interrupted


class _Broken(Exception):
    """The stream broke, and the glue said that one may come back."""


class Session:
    """A peer's end of one session: every call is carried out once, whatever breaks."""

    def __init__(
        self,
        join_string: JoinString,
        part: RoleAdapter,
        *,
        connect_timeout_s: float,
        transport: Transport,
    ) -> None:
        self._invitation = join_string
        self._part = part
        self._connect_timeout_s = connect_timeout_s
        self._transport = transport

    def play(self) -> str:
        """Answer calls until the farewell; returns its reason. Raises as `connect`."""
        for pause_s in backoff():
            self._ticket = join(
                self._invitation,
                self._part.role,
                name=self._part.name,
                connect_timeout_s=self._connect_timeout_s,
            )
            self._way = Route(
                self._invitation,
                self._ticket,
                self._transport,
                connect=self._part.connect,
                kind=self._part.calls,
            )
            self._is_seated = False  # at the glue, by an earlier stream
            self._taken = 0  # number of the last call that was taken in
            self._answers: OrderedDict[int, Any] = OrderedDict()  # to the last calls
            try:
                return self._play()
            except _Broken:
                log.warning("the glue has forgotten this session; joining anew")
                time.sleep(pause_s)
            except (KeyboardInterrupt, SystemExit):
                self._say_goodbye()
                raise
        raise AssertionError("the backoff never ends")

    def _play(self) -> str:
        """Stream after stream. Raises _Broken if the glue does not know the session any more."""
        absence = ReconnectWait(
            min(self._ticket.reconnect_window_us / 1e6, self._connect_timeout_s)
        )
        while True:
            heard = self._taken
            self._stood_s = 0.0
            try:
                return self._stream()
            except SessionLost as error:
                if isinstance(error.__cause__, (BadReply, SpecError)):
                    raise
                pause_s = absence.pause_s(stood_s=self._stood_s, has_heard=self._taken > heard)
                if pause_s is None:
                    if self._ticket.address:  # the run is gone, its hub may not be
                        raise _Broken from error
                    raise
                log.warning("the connection broke, coming back: %s", error)
                time.sleep(pause_s)
            except ReglueError as error:
                cause = error.__cause__
                if not self._ticket.reconnect_window_us or not isinstance(cause, StreamEnded):
                    raise
                if cause.code is not grpc.StatusCode.UNAUTHENTICATED:
                    raise
                raise _Broken from error

    def _say_goodbye(self) -> None:
        """Tell the glue of an interruption, over a new stream, so that it does not wait for us."""
        if self._ticket.reconnect_window_us:
            with contextlib.suppress(ReglueError), self._open() as stream:
                stream.send(self._part.fault(0, "interrupted"))
                _wait_for_farewell(stream, _END_S)

    def _stream(self) -> str:
        """One stream, to the farewell. Raises SessionLost if it breaks."""
        with self._open() as stream:
            return self._answer(stream)

    @contextlib.contextmanager
    def _open(self) -> Iterator[Stream]:
        """A stream on which hello is said. Raises SessionLost, Refused, UsageError."""
        hello = self._part.hello(self._ticket, self._taken)
        try:
            stream = self._way.open(hello, is_back=self._is_seated)
        except StreamEnded as end:
            raise end.meaning() from end
        self._is_seated = True
        try:
            yield stream
        finally:
            self._stood_s = stream.stood_s
            stream.close()

    def _answer(self, stream: Stream) -> str:
        while True:
            seq, call = self._next(stream)
            match call.call if isinstance(call, Numbered) else call:
                case Farewell(reason):
                    return reason
                case Refusal(of_seq, _, got, wanted):
                    log.warning("reply %d was refused: got %s, wanted %s", of_seq, got, wanted)
            try:
                answer = self._part.answer(seq, call)
                if answer is not None:
                    self._check_size(answer.ByteSize())
            except Exception as error:
                log.exception("the peer failed")  # first: the program that started us reads it now
                what = printable(f"{type(error).__name__}: {error}")
                stream.send(self._part.fault(seq, what))
                _wait_for_farewell(stream, _FAREWELL_S)
                raise
            self._taken = seq
            if answer is not None:
                self._remember(seq, answer)
                stream.send(answer)

    def _next(self, stream: Stream) -> tuple[int, Any]:
        """What the glue says for the first time. Raises SessionLost, Refused.

        Errors are translated here and nowhere else: a peer may have a gRPC client or
        specs of its own, and what those raise is the peer's.
        """
        try:
            while True:
                message: Any = stream.receive()
                if message.seq > self._taken:
                    return message.seq, self._part.read(message)
                if message.seq in self._answers:
                    stream.send(self._answers[message.seq])
        except StreamEnded as end:
            raise end.meaning() from end
        except (BadReply, SpecError) as error:
            raise SessionLost(f"the glue sent what this client cannot read: {error}") from error

    def _check_size(self, size: int) -> None:
        most = self._way.max_message_bytes
        if size > most:
            raise UsageError(f"got an answer of {size} bytes, wanted at most {most}")

    def _remember(self, seq: int, answer: Any) -> None:
        self._answers[seq] = answer
        if len(self._answers) > WINDOW:
            self._answers.popitem(last=False)


def _wait_for_farewell(stream: Stream, timeout_s: float) -> None:
    """Give the glue a moment to close the session."""
    until = time.monotonic() + timeout_s
    # A glue that is gone as well says less than the peer's own error.
    with contextlib.suppress(StreamEnded):
        while (left_s := until - time.monotonic()) > 0:
            message = stream.receive(left_s)
            if message is not None and message.HasField("farewell"):
                return


log = logging.getLogger("reglue")

_FAREWELL_S = 5.0  # how long the glue is given to let everybody go


class ExperimentSession:
    """Numbers calls and asks each until it is answered, over as many streams as it takes."""

    def __init__(
        self,
        join_string: JoinString,
        name: str,
        *,
        connect_timeout_s: float,
        timeout_s: float,
        transport: Transport,
    ) -> None:
        self._name = name
        self._connect_timeout_s, self._timeout_s = connect_timeout_s, timeout_s
        self._ticket = join(
            join_string, lobby_pb2.ROLE_EXPERIMENT, name=name, connect_timeout_s=connect_timeout_s
        )
        self._way = Route(
            join_string,
            self._ticket,
            transport,
            connect=lambda channel: experiment_pb2_grpc.ExperimentServiceStub(channel).Session,
            kind=pb.ExperimentReply,
        )
        self._answered = 0  # number of the last call whose answer has come
        self._spec: TaskSpec | None = None
        self._stream: _Heard | None = None
        self._is_seated = False  # at the glue, which then is to be told that we leave
        self._over = ""  # why nothing more can be asked

    def ask(self, call: ExperimentCall) -> Answer:
        """What the routine returns; raises what it raises, and SessionLost."""
        if self._over:
            raise SessionLost(self._over)
        seq = self._answered + 1
        message = encode_experiment_call(seq, call, self._spec)
        self._check_size(message.ByteSize())
        try:
            reply = self._exchange(seq, message)
            self._answered = seq
            answer = decode_answer(reply, call, self._spec)
        except (BadReply, SpecError) as error:
            self._over = f"the glue sent what this client cannot read: {error}"
            raise SessionLost(self._over) from error
        if isinstance(answer, TaskSpec):
            self._spec = answer
        return answer

    def leave(self) -> None:
        """Say that no more will be asked, and end the stream; over a new one if it broke."""
        farewell = session_pb2.Farewell(reason="the program has left")
        if self._is_seated:
            with contextlib.suppress(SessionLost):
                stream = self._opened()
                stream.send(pb.ExperimentCall(farewell=farewell))
                stream.wait(time.monotonic() + _FAREWELL_S)
        self._is_seated = False
        self._close()

    def _opened(self) -> _Heard:
        """The stream, or a new one. Raises SessionLost, Refused, UsageError."""
        if self._stream is None:
            try:
                self._stream = _Heard(self._way.open(self._hello(), is_back=self._is_seated))
            except StreamEnded as end:
                raise end.meaning() from end
            self._is_seated = True
        return self._stream

    def _close(self) -> None:
        if self._stream is not None:
            self._stream.close()
            self._stream = None

    def _check_size(self, size: int) -> None:
        most = self._way.max_message_bytes
        if size > most:
            raise OutOfDomain(got=f"a call of {size} bytes", wanted=f"at most {most}")

    def _exchange(self, seq: int, message: pb.ExperimentCall) -> pb.ExperimentReply:
        """As `_send`; one that is broken off ends the session, as its answer is still to come."""
        try:
            return self._send(seq, message)
        except ReglueError as error:
            self._over = str(error)
            raise
        except BaseException:
            self._over = "the session is over: a routine was broken off, and its answer not heard"
            raise

    def _send(self, seq: int, message: pb.ExperimentCall) -> pb.ExperimentReply:
        """Send until an answer comes. Raises SessionLost, Refused."""
        deadline = time.monotonic() + self._timeout_s
        absence = ReconnectWait(
            min(self._ticket.reconnect_window_us / 1e6, self._connect_timeout_s)
        )
        while True:
            try:
                stream = self._opened()
                stream.send(message)
                reply = stream.receive(seq, deadline)
                if reply.HasField("farewell"):
                    self._is_seated = False
                    self._over = f"the glue has ended the session: {reply.farewell.reason}"
                    raise SessionLost(self._over)
                return reply
            except WrongToken as error:  # of the ticket: the run's process has ended
                self._is_seated = False
                raise SessionLost("the glue does not know this session any more") from error
            except SessionLost as error:
                stood_s = 0.0 if self._stream is None else self._stream.stood_s
                self._close()
                pause_s = absence.pause_s(stood_s=stood_s, has_heard=False)
                if self._over or pause_s is None or time.monotonic() + pause_s > deadline:
                    raise
                log.warning("the connection broke, coming back: %s", error)
                time.sleep(pause_s)

    def _hello(self) -> pb.ExperimentCall:
        ticket, answered = self._ticket, self._answered
        return pb.ExperimentCall(
            hello=pb.ExperimentHello(
                major=PROTOCOL_MAJOR,
                minor=PROTOCOL_MINOR,
                sdk=sdk(),
                experiment=self._name[:200],
                session=ticket.session,
                proof=hello_proof(ticket.secret, ticket.session, answered),
                answered=answered,
            )
        )


class _Heard:
    """One stream. gRPC's cannot be waited for with an end: there a thread takes in what comes."""

    def __init__(self, stream: Stream) -> None:
        self._stream = stream
        self._inbox: SimpleQueue[pb.ExperimentReply | StreamEnded] = SimpleQueue()
        self._reader: threading.Thread | None = None
        if isinstance(stream, GrpcStream):
            self._reader = threading.Thread(
                target=self._read, name="reglue-experiment", daemon=True
            )
            self._reader.start()

    def send(self, message: pb.ExperimentCall) -> None:
        """Send a call."""
        self._stream.send(message)

    def receive(self, seq: int, deadline: float) -> pb.ExperimentReply:
        """The reply to call `seq`, or a farewell. Raises SessionLost, Refused."""
        while True:
            try:
                reply = self._next(deadline)
            except StreamEnded as end:
                raise end.meaning() from end
            if reply is None:
                raise SessionLost("the glue did not answer in time")
            if reply.seq == seq or reply.HasField("farewell"):
                return reply

    @property
    def stood_s(self) -> float:
        """As of the stream."""
        return self._stream.stood_s

    def wait(self, deadline: float) -> None:
        """Until the glue has ended the stream."""
        with contextlib.suppress(StreamEnded):
            while self._next(deadline) is not None:
                pass

    def close(self) -> None:
        """End it from this side."""
        self._stream.close()
        if self._reader is not None:
            self._reader.join()

    def _next(self, deadline: float) -> pb.ExperimentReply | None:
        """What comes in next; None if nothing has. Raises StreamEnded."""
        left_s = max(0.0, deadline - time.monotonic())
        if self._reader is None:
            return self._stream.receive(left_s)
        try:
            reply = self._inbox.get(timeout=left_s)
        except Empty:
            return None
        if isinstance(reply, StreamEnded):
            raise reply
        return reply

    def _read(self) -> None:
        try:
            while (reply := self._stream.receive()) is not None:
                self._inbox.put(reply)
        except StreamEnded as end:
            self._inbox.put(end)


_STOOD_S = 1.0


class ReconnectWait:
    """From the last stream that was any good, until nobody waits any more."""

    def __init__(self, most_s: float) -> None:
        self._most_s = most_s
        self._since: float | None = None
        self._pauses = backoff()

    def pause_s(self, *, stood_s: float, has_heard: bool) -> float | None:
        """How long to wait before the next stream, in seconds; None if it is too late for one.

        The last stream was good, and the absence begins with its end, if something new was
        heard on it (`has_heard`) or it stood for a second with this peer seated
        (`stood_s`). Less proves nothing: a call may break every stream that it comes over.
        """
        now = time.monotonic()
        if self._since is None or has_heard or stood_s >= _STOOD_S:
            self._since, self._pauses = now, backoff()
        pause_s = next(self._pauses)
        return None if now + pause_s > self._since + self._most_s else pause_s
