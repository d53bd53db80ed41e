"""One session over gRPC: join, say hello, answer calls, come back if the stream breaks, leave."""

from __future__ import annotations

import contextlib
import logging
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator
from dataclasses import replace
from queue import SimpleQueue
from typing import Any, Protocol

from reglue.calls import Farewell, Numbered, Refusal
from reglue.door import backoff, join, lost, open_channel
from reglue.errors import BadReply, ReglueError, SessionLost, SpecError, UsageError
from reglue.grpc_settings import HUB_MESSAGE_BYTES, grpc
from reglue.invitation import Invitation
from reglue.parts import Part

log = logging.getLogger("reglue")

WINDOW = 8
"""Answers that are remembered: as many calls may be under way at once."""

_FAREWELL_S = 5.0  # how long a faulted partner waits for the glue's last word
_END_S = 2.0  # how long grpc may take to end a stream


class Stream(Protocol):
    """What a stream call of grpc is: messages that come in, and a way to end them."""

    def __iter__(self) -> Iterator[Any]: ...

    def cancel(self) -> bool:
        """End it from this side."""

    def add_callback(self, callback: Callable[[], None]) -> bool:
        """Call it when the stream has ended; False if it has."""


class _Broken(Exception):
    """The stream broke, and the glue said that one may come back."""


class Session:
    """A partner's end of one session: every call is carried out once, whatever breaks."""

    def __init__(self, invitation: Invitation, part: Part, *, patience_s: float) -> None:
        self._invitation = invitation
        self._part = part
        self._patience_s = patience_s

    def play(self) -> str:
        """Answer calls until the farewell; returns its reason. Raises as `connect`."""
        for pause_s in backoff():
            self._ticket = join(
                self._invitation,
                self._part.role,
                name=self._part.name,
                patience_s=self._patience_s,
            )
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
        broken_at: float | None = None
        pauses = backoff()
        while True:
            heard = self._taken
            try:
                return self._stream()
            except SessionLost as error:
                now = time.monotonic()
                if broken_at is None or self._taken > heard:
                    broken_at, pauses = now, backoff()
                pause_s = next(pauses)
                if isinstance(error.__cause__, (BadReply, SpecError)):
                    raise
                if now + pause_s > broken_at + self._ticket.grace_ms / 1000:
                    if self._ticket.address:  # the run is gone, its hub may not be
                        raise _Broken from error
                    raise
                log.warning("the connection broke, coming back: %s", error)
                time.sleep(pause_s)
            except ReglueError as error:
                cause = error.__cause__
                if not self._ticket.grace_ms or not isinstance(cause, grpc.RpcError):
                    raise
                if cause.code() is not grpc.StatusCode.UNAUTHENTICATED:
                    raise
                raise _Broken from error

    def _say_goodbye(self) -> None:
        """Who is interrupted says so, over a new stream: else the glue would wait for the grace."""
        if self._ticket.grace_ms:
            with contextlib.suppress(grpc.RpcError), self._open() as (stream, outbox):
                outbox.put(self._part.fault(0, "interrupted"))
                _wait_for_farewell(stream, _END_S)

    def _stream(self) -> str:
        """One stream, to the farewell. Raises SessionLost if it breaks."""
        with self._open() as (stream, outbox):
            return self._answer(stream, outbox)

    @contextlib.contextmanager
    def _open(self) -> Iterator[tuple[Stream, SimpleQueue[Any | None]]]:
        """A stream on which hello is said, and what goes out over it."""
        outbox: SimpleQueue[Any | None] = SimpleQueue()
        outbox.put(self._part.hello(self._ticket, self._taken))
        limit = self._ticket.max_message_bytes or HUB_MESSAGE_BYTES
        with open_channel(self._where(), limit) as channel:
            stream = self._part.connect(channel)(
                iter(outbox.get, None), metadata=[("reglue-session", self._ticket.session)]
            )
            has_ended = threading.Event()
            if not stream.add_callback(has_ended.set):
                has_ended.set()
            try:
                yield stream, outbox
            finally:
                outbox.put(None)
                stream.cancel()
                # An error that is not caught keeps the stream until the interpreter leaves,
                # and grpc would then wait for a thread that had a lock and is no more.
                has_ended.wait(_END_S)

    def _where(self) -> Invitation:
        """Where the ticket says that the stream is opened."""
        return replace(
            self._invitation,
            address=self._ticket.address or self._invitation.address,
            tls_name=self._ticket.tls_name or self._invitation.tls_name,
        )

    def _answer(self, stream: Stream, outbox: SimpleQueue[Any | None]) -> str:
        for seq, call in self._calls(stream, outbox):
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
                log.exception("the partner failed")  # first: whoever started us reads it now
                what = f"{type(error).__name__}: {error}"
                outbox.put(self._part.fault(seq, what))
                _wait_for_farewell(stream, _FAREWELL_S)
                raise
            self._taken = seq
            if answer is not None:
                self._remember(seq, answer)
                outbox.put(answer)
        raise SessionLost("the glue closed the session without a farewell")

    def _calls(self, stream: Stream, outbox: SimpleQueue[Any | None]) -> Iterator[tuple[int, Any]]:
        """What the glue says for the first time. Raises SessionLost, Refused.

        Errors are translated here and nowhere else: a partner may have a gRPC client or
        specs of its own, and what those raise is the partner's.
        """
        try:
            for message in stream:
                if message.seq > self._taken:
                    yield message.seq, self._part.read(message)
                elif message.seq in self._answers:
                    outbox.put(self._answers[message.seq])
        except grpc.RpcError as error:
            raise lost(error) from error
        except (BadReply, SpecError) as error:
            raise SessionLost(f"the glue sent what this client cannot read: {error}") from error

    def _check_size(self, size: int) -> None:
        most = self._ticket.max_message_bytes or HUB_MESSAGE_BYTES
        if size > most:
            raise UsageError(f"got an answer of {size} bytes, wanted at most {most}")

    def _remember(self, seq: int, answer: Any) -> None:
        self._answers[seq] = answer
        if len(self._answers) > WINDOW:
            self._answers.popitem(last=False)


def _wait_for_farewell(stream: Stream, timeout_s: float) -> None:
    """Give the glue a moment to close the session."""
    timer = threading.Timer(timeout_s, stream.cancel)
    timer.start()
    try:
        for message in stream:
            if message.HasField("farewell"):
                break
    except grpc.RpcError:
        pass  # the glue is gone as well; the partner's own error says more
    finally:
        timer.cancel()
