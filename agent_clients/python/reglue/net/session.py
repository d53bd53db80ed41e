"""The sessions of agents and environments: join, say hello, answer calls, come back, leave."""

from __future__ import annotations

import contextlib
import math
import threading
import time
from collections import OrderedDict
from collections.abc import Generator
from typing import Any

from google.protobuf.message import DecodeError

from reglue.error_message import error_text, printable
from reglue.errors import (
    BadArgument,
    BadReply,
    ReglueError,
    SessionLost,
    SpecError,
    Unreachable,
    UsageError,
)
from reglue.messages.agent_messages import INTERRUPTED, Farewell, Fault, Numbered, Refusal
from reglue.net.grpc_settings import MESSAGE_S, grpc
from reglue.net.join_string import JoinString, Transport
from reglue.net.lobby import StreamEnded, join
from reglue.net.log import Outage, call_trace, log, show_log
from reglue.net.peer import AnsweringPeer, Peer, TracedPeer
from reglue.net.reconnect import ReconnectWait, was_good
from reglue.net.streams import Route, Stream
from reglue.tracebacks import explained
from reglue.wire.layout import numbered
from reglue_signals import interruption

WINDOW = 8
"""The number of answers that are remembered, and of calls that may be under way at once."""

FAREWELL_S = 5.0  # how long a peer that leaves waits for the glue's last word
_END_S = 2.0  # and one that leaves early, or was interrupted
_GAVE_UP = (
    "gave up. A competition keeps its submissions: join again under the same name, and if its "
    "organiser has announced a new address, put it into the join string"
)
_IN_VAIN = 3  # connections after which the log says why nothing may come over them


class GlueSession:
    """The ticket of a session, and its streams, one at a time."""

    def __init__(
        self, join_string: JoinString, peer: Peer, *, connect_timeout_s: float, transport: Transport
    ) -> None:
        """Raises BadArgument for a wrong timeout."""
        if not connect_timeout_s >= 0:
            got = f"a connect timeout of {connect_timeout_s:g} s"
            raise BadArgument(got=got, wanted="0 or more")
        self._join_string = join_string
        self._peer = peer
        self._connect_timeout_s = connect_timeout_s
        self._transport = transport
        self._outage = Outage()
        show_log()

    def _join(self) -> None:
        """Begin a new session. Raises as `join`."""
        self._ticket = join(
            self._join_string,
            self._peer.role,
            name=self._peer.name,
            connect_timeout_s=self._connect_timeout_s,
        )
        self._route = Route(
            self._join_string,
            self._ticket,
            self._transport,
            role=self._peer.role,
            admitted=self._outage.end,
        )
        self._most = self._route.max_message_bytes  # of a call or reply
        self._stream: Stream | None = None
        self._is_known = False  # to the glue, by an earlier stream
        self._answered = 0  # number of the last call whose answer was sent, or came
        self._answered_before = 0  # the present stream
        self._in_vain = 0  # streams, one after another, over which no whole message came
        self._reconnect_wait = ReconnectWait(self._ticket.reconnect_window_us / 1e6)

    def _open(self) -> Stream:
        """The current stream, or a new one. Raises SessionLost, Refused, UsageError."""
        if self._stream is None:
            hello = self._peer.hello(self._ticket, self._answered)
            try:
                self._stream = self._route.open(hello, is_back=self._is_known)
            except StreamEnded as end:
                raise end.meaning() from end
            self._is_known = True
            self._answered_before = self._answered
            self._most = self._route.max_message_bytes
        return self._stream

    def _close(self) -> None:
        if self._stream is not None:
            has_heard = self._answered > self._answered_before
            self._in_vain = 0 if has_heard else self._in_vain + 1
            if was_good(stood_s=self._stream.stood_s, has_heard=has_heard):
                self._good_stream_ends()
            self._stream.close()
            self._stream = None

    def _good_stream_ends(self) -> None:
        self._reconnect_wait.restart()

    def _may_return(self, error: SessionLost, *, until: float = math.inf) -> bool:
        """End the stream and wait before the next one; False if it would be too late for one."""
        self._close()
        pause_s = self._reconnect_wait.pause_s()
        if pause_s is None or time.monotonic() + pause_s > until:
            return False
        self._outage.begin(_explained(error, self._in_vain), self._reconnect_wait.most_s)
        time.sleep(pause_s)
        return True

    def _receive(self, timeout_s: float | None = None) -> bytes | None:
        """The next message; None if none came in time. Raises SessionLost, Refused."""
        try:
            return (self._stream or self._open()).receive(timeout_s)
        except StreamEnded as end:
            raise end.meaning() from end

    def _parsed(self, message: bytes) -> Any:
        """Parse a protobuf message. Raises SessionLost."""
        try:
            return self._peer.role.from_glue.FromString(message)
        except DecodeError as error:
            raise SessionLost(f"the glue sent what this client cannot read: {error}") from error

    def _leave_at_once(self, message: bytes) -> None:
        """Tell the glue of an interrupt; it need not answer."""
        with contextlib.suppress(ReglueError):
            self._open().send_last(message, _END_S)

    def _leave(self, message: bytes, timeout_s: float) -> None:
        """Say why we leave, and give the glue a moment to close the session."""
        # A glue that is gone as well says less than the peer's own error.
        with contextlib.suppress(ReglueError):
            self._open().send(message)
            until = time.monotonic() + timeout_s
            while (left_s := until - time.monotonic()) > 0:
                answer = self._receive(left_s)
                if answer is not None and self._parsed(answer).HasField("farewell"):
                    return


class _Forgotten(Exception):
    """The glue no longer knows this session; `error` is raised if the peer cannot join again."""

    def __init__(self, error: ReglueError) -> None:
        super().__init__(error)
        self.error = error


class Session(GlueSession):
    """Answers calls as an agent or environment, each once, also if connections break."""

    _peer: AnsweringPeer

    def __init__(
        self,
        join_string: JoinString,
        peer: AnsweringPeer,
        *,
        connect_timeout_s: float,
        transport: Transport,
    ) -> None:
        """Raises BadArgument for a wrong timeout, REGLUE_LOG or REGLUE_TRACE."""
        self.has_failed = False  # the peer, by an error of its own, which was logged
        trace = call_trace()
        super().__init__(
            join_string,
            TracedPeer(peer, trace) if trace else peer,
            connect_timeout_s=connect_timeout_s,
            transport=transport,
        )
        self._rejoin_wait = ReconnectWait(connect_timeout_s)  # for a ticket with a good stream

    def play(self) -> str:
        """Answer calls until the farewell; returns its reason. Raises as `connect`."""
        calls = self.calls()
        try:
            return self._carry_out(calls)
        except BaseException as error:  # the peer's, or an interruption between two calls
            calls.throw(error)
            raise

    def _carry_out(self, calls: Generator[Any, Any, str]) -> str:
        reply = None
        while True:
            try:
                call = calls.send(reply)
            except StopIteration as end:
                return str(end.value)
            reply = self._peer.carry_out(call)

    def calls(self) -> Generator[Any, Any, str]:
        """Yield every call except the farewell; the caller sends the reply to each, or None.

        Returns the farewell's reason. Throw in what goes wrong, so that the glue is told, and
        close it to leave early. Raises as `connect`.
        """
        forgotten: ReglueError | None = None
        while True:
            try:
                self._join()
            except Unreachable as error:
                if forgotten is None:
                    raise
                raise forgotten from error  # a glue has answered at this address before
            self._answers: OrderedDict[int, bytes] = OrderedDict()  # to the last calls
            try:
                return (yield from self._calls())
            except _Forgotten as end:
                forgotten = end.error
                self._close()
                pause_s = self._rejoin_wait.pause_s()
                if pause_s is None:
                    raise forgotten from forgotten.__cause__
                self._outage.forget()
                time.sleep(pause_s)
            except GeneratorExit:
                self._leave(self._peer.encode(0, Fault("the program has left")), _END_S)
                raise
            except BaseException as error:
                if isinstance(error, SystemExit) or interruption(error) is not None:
                    self._say_goodbye()
                raise
            finally:
                self._close()

    def _calls(self) -> Generator[Any, Any, str]:
        """Answer calls over one stream after another. Raises _Forgotten."""
        while True:
            try:
                return (yield from self._calls_of_stream())
            except SessionLost as error:
                if isinstance(error.__cause__, (BadReply, SpecError)):
                    raise
                if self._may_return(error):
                    continue
                if self._ticket.address:  # the run is gone, its hub may not be
                    raise _Forgotten(error) from error
                if self._ticket.reconnect_window_us:
                    raise SessionLost(f"{error}; {_GAVE_UP}") from error.__cause__
                raise
            except ReglueError as error:
                cause = error.__cause__
                if not self._ticket.reconnect_window_us or not isinstance(cause, StreamEnded):
                    raise
                if cause.code is not grpc.StatusCode.UNAUTHENTICATED:
                    raise
                raise _Forgotten(error) from error

    def _good_stream_ends(self) -> None:
        super()._good_stream_ends()
        self._rejoin_wait.restart()

    def _say_goodbye(self) -> None:
        """Tell the glue of an interruption, so that it does not wait for us.

        Over a new stream, and before the old one is closed: that may be cut in the middle of a
        message, or of a lock's own lines.
        """
        old, self._stream = self._stream, None
        if self._ticket.reconnect_window_us:
            self._leave_at_once(self._peer.encode(0, Fault(INTERRUPTED)))
        if old is not None:  # its locks may be those that the interruption damaged: not for ever
            closing = threading.Thread(target=old.close, name="reglue-close", daemon=True)
            closing.start()
            closing.join(_END_S)

    def _calls_of_stream(self) -> Generator[Any, Any, str]:
        """Answer calls over one stream, until the farewell. Raises SessionLost if it breaks."""
        while True:
            seq, call = self._receive_call()
            said = call.call if type(call) is Numbered else call
            if type(said) is Farewell:
                return said.reason
            if type(said) is Refusal:
                got, wanted = said.got, said.wanted
                log.error("reply %d was refused: got %s, wanted %s", said.of_seq, got, wanted)
            try:
                reply = yield call
                answer = None if reply is None else self._peer.encode(seq, reply)
                if answer is not None and len(answer) > self._most:
                    got = f"an answer of {len(answer)} bytes"
                    raise UsageError(got=got, wanted=f"at most {self._most}")
            except Exception as error:
                if interruption(error) is not None:
                    raise
                self.has_failed = True
                log.error("the peer failed: %s", explained(error))  # first: who started us reads it
                what = printable(error_text(error))
                self._leave(self._peer.encode(seq, Fault(what)), FAREWELL_S)
                raise
            # Before it is sent: if the stream breaks now, the glue asks again over the next one and
            # gets this answer, and the call is not carried out twice.
            self._answered = seq
            if answer is not None:
                self._remember(seq, answer)
                (self._stream or self._open()).send(answer)

    def _receive_call(self) -> tuple[int, Any]:
        """The next call that is new, and its number. Raises SessionLost, Refused.

        Errors are translated here and nowhere else: a peer may have a gRPC client or
        specs of its own, and what those raise is the peer's.
        """
        seq = self._answered + 1
        head = numbered(seq)
        try:
            while True:
                content = self._receive() or b""
                if content.startswith(head):
                    call = self._peer.read_repeated(seq, content, len(head))
                    if call is not None:
                        return seq, call
                message = self._parsed(content)
                if message.seq > self._answered:
                    return message.seq, self._peer.read(message)
                if message.seq in self._answers:
                    self._open().send(self._answers[message.seq])
        except (BadReply, SpecError) as error:
            raise SessionLost(f"the glue sent what this client cannot read: {error}") from error

    def _remember(self, seq: int, answer: bytes) -> None:
        self._answers[seq] = answer
        if len(self._answers) > WINDOW:
            self._answers.popitem(last=False)


def _explained(error: SessionLost, in_vain: int) -> str:
    """The reason why a stream ended, with a hint after several without a whole message."""
    if in_vain < _IN_VAIN:
        return str(error)
    return (
        f"{error}; no message arrived whole over the last {in_vain} connections: one that takes "
        f"longer than {MESSAGE_S} s breaks a gRPC connection. If the link is slow, ask the host "
        "for fewer slots or smaller observations"
    )
