"""One session: join, say hello, answer calls, come back if the stream breaks, leave."""

from __future__ import annotations

import contextlib
import logging
import time
from collections import OrderedDict
from collections.abc import Iterator
from typing import Any

from reglue.errors import BadReply, ReglueError, SessionLost, SpecError, UsageError, printable
from reglue.messages.agent import Farewell, Numbered, Refusal
from reglue.net.grpc_settings import grpc
from reglue.net.join_string import JoinString
from reglue.net.lobby import backoff, join
from reglue.net.reconnect import ReconnectWait
from reglue.net.roles import RoleAdapter
from reglue.net.streams import Route, Stream, StreamEnded
from reglue.net.transport import Transport

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
