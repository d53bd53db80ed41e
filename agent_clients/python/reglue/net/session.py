"""The sessions of agents and environments: join, say hello, answer calls, come back, leave."""

from __future__ import annotations

import contextlib
import math
import time
from collections import OrderedDict
from collections.abc import Generator
from typing import Any

from google.protobuf.message import DecodeError

from reglue.agents.agent import Agent, hello, play
from reglue.environments.environment import Environment
from reglue.environments.environment_dispatch import environment_hello, play_environment
from reglue.errors import (
    BadReply,
    ReglueError,
    SessionLost,
    SpecError,
    UsageError,
    error_text,
    printable,
    raise_interrupt,
)
from reglue.messages.agent import INTERRUPTED, AgentInit, Farewell, Fault, Numbered, Refusal
from reglue.messages.environment import EnvironmentReady, Play
from reglue.net.grpc_settings import MESSAGE_S, grpc
from reglue.net.join_string import JoinString, Transport
from reglue.net.lobby import StreamEnded, hello_fields, join
from reglue.net.log import Outage, call_trace, log, show_log
from reglue.net.reconnect import ReconnectWait, was_good
from reglue.net.role import AnsweringRole, Role, TracedRole
from reglue.net.streams import Route, Stream
from reglue.process_tuning import keep_blocks_for
from reglue.spec import TaskSpec
from reglue.v1 import agent_pb2, environment_pb2, lobby_pb2
from reglue.wire.agent import decode_call
from reglue.wire.environment import decode_environment_call
from reglue.wire.layout import (
    Repeats,
    decode_repeated_play,
    decode_repeated_turn,
    encode_repeated_actions,
    encode_repeated_played,
    numbered,
    see_play,
    see_turn,
)

WINDOW = 8
"""Answers that are remembered: as many calls may be under way at once."""

FAREWELL_S = 5.0  # how long a peer that leaves waits for the glue's last word
_END_S = 2.0  # and one that leaves early, or was interrupted
_IN_VAIN = 3  # connections after which the log says why nothing may come over them


class GlueSession:
    """A ticket, and as many streams as it takes, one at a time."""

    def __init__(
        self, join_string: JoinString, role: Role, *, connect_timeout_s: float, transport: Transport
    ) -> None:
        self._join_string = join_string
        self._role = role
        self._connect_timeout_s = connect_timeout_s
        self._transport = transport
        self._outage = Outage()
        show_log()

    def _join(self) -> None:
        """Begin a new session. Raises as `join`."""
        self._ticket = join(
            self._join_string,
            self._role.role,
            name=self._role.name,
            connect_timeout_s=self._connect_timeout_s,
        )
        self._route = Route(
            self._join_string,
            self._ticket,
            self._transport,
            kind=self._role.calls,
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
        """The stream, which is opened if it is not up. Raises SessionLost, Refused, UsageError."""
        if self._stream is None:
            hello = self._role.hello(self._ticket, self._answered)
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
        """What comes in next; None if nothing came in time. Raises SessionLost, Refused."""
        try:
            return (self._stream or self._open()).receive(timeout_s)
        except StreamEnded as end:
            raise end.meaning() from end

    def _parsed(self, message: bytes) -> Any:
        """The message of protobuf. Raises SessionLost."""
        try:
            return self._role.calls.FromString(message)
        except DecodeError as error:
            raise SessionLost(f"the glue sent what this client cannot read: {error}") from error

    def _leave_at_once(self, message: bytes) -> None:
        """Say that we were interrupted; the glue need not answer."""
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
    """The glue knows the session no more; `error` is what a peer is told that joins no more."""

    def __init__(self, error: ReglueError) -> None:
        super().__init__(error)
        self.error = error


class Session(GlueSession):
    """An agent's or an environment's: every call is carried out once, whatever breaks."""

    _role: AnsweringRole

    def __init__(
        self,
        join_string: JoinString,
        role: AnsweringRole,
        *,
        connect_timeout_s: float,
        transport: Transport,
    ) -> None:
        """Raises BadArgument for a wrong REGLUE_LOG or REGLUE_TRACE."""
        self.has_failed = False  # the peer, by an error of its own, which was logged
        trace = call_trace()
        super().__init__(
            join_string,
            TracedRole(role, trace) if trace else role,
            connect_timeout_s=connect_timeout_s,
            transport=transport,
        )
        self._rejoin_wait = ReconnectWait(connect_timeout_s)  # for a ticket with a good stream

    def play(self) -> str:
        """Answer calls until the farewell; returns its reason. Raises as `connect`."""
        calls, reply = self.calls(), None
        while True:
            try:
                call = calls.send(reply)
            except StopIteration as end:
                return str(end.value)
            try:
                reply = self._role.carry_out(call)
            except BaseException as error:
                calls.throw(error)
                raise

    def calls(self) -> Generator[Any, Any, str]:
        """Every call but the farewell; send it the reply to each, or None.

        Returns the farewell's reason. Throw in what goes wrong, so that the glue is told, and
        close it to leave early. Raises as `connect`.
        """
        while True:
            self._join()
            self._answers: OrderedDict[int, bytes] = OrderedDict()  # to the last calls
            try:
                return (yield from self._calls())
            except _Forgotten as forgotten:
                self._close()
                pause_s = self._rejoin_wait.pause_s()
                if pause_s is None:
                    raise forgotten.error from forgotten.error.__cause__
                self._outage.forget()
                time.sleep(pause_s)
            except (KeyboardInterrupt, SystemExit):
                self._say_goodbye()
                raise
            except GeneratorExit:
                self._leave(self._role.encode(0, Fault("the program has left")), _END_S)
                raise
            finally:
                self._close()

    def _calls(self) -> Generator[Any, Any, str]:
        """Stream after stream. Raises _Forgotten."""
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

        Over a new stream: the old one may be cut in the middle of a message.
        """
        self._close()
        if self._ticket.reconnect_window_us:
            self._leave_at_once(self._role.encode(0, Fault(INTERRUPTED)))

    def _calls_of_stream(self) -> Generator[Any, Any, str]:
        """One stream, to the farewell. Raises SessionLost if it breaks."""
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
                answer = None if reply is None else self._role.encode(seq, reply)
                if answer is not None and len(answer) > self._most:
                    got = f"an answer of {len(answer)} bytes"
                    raise UsageError(f"got {got}, wanted at most {self._most}")
            except Exception as error:
                raise_interrupt(error)
                self.has_failed = True
                log.exception("the peer failed")  # first: the program that started us reads it now
                what = printable(error_text(error))
                self._leave(self._role.encode(seq, Fault(what)), FAREWELL_S)
                raise
            self._answered = seq
            if answer is not None:
                self._remember(seq, answer)
                (self._stream or self._open()).send(answer)

    def _receive_call(self) -> tuple[int, Any]:
        """What the glue says for the first time. Raises SessionLost, Refused.

        Errors are translated here and nowhere else: a peer may have a gRPC client or
        specs of its own, and what those raise is the peer's.
        """
        seq = self._answered + 1
        head = numbered(seq)
        try:
            while True:
                content = self._receive() or b""
                if content.startswith(head):
                    call = self._role.read_repeated(seq, content, len(head))
                    if call is not None:
                        return seq, call
                message = self._parsed(content)
                if message.seq > self._answered:
                    return message.seq, self._role.read(message)
                if message.seq in self._answers:
                    self._open().send(self._answers[message.seq])
        except (BadReply, SpecError) as error:
            raise SessionLost(f"the glue sent what this client cannot read: {error}") from error

    def _remember(self, seq: int, answer: bytes) -> None:
        self._answers[seq] = answer
        if len(self._answers) > WINDOW:
            self._answers.popitem(last=False)


class AgentRole:
    """An agent."""

    role = lobby_pb2.ROLE_AGENT
    calls = agent_pb2.AgentCall

    def __init__(self, agent: Agent, name: str) -> None:
        self.name = name
        self._agent = agent
        self._spec: TaskSpec | None = None
        self._turns, self._actions = Repeats(), Repeats()

    def hello(self, ticket: lobby_pb2.Ticket, answered: int) -> Any:
        """What the agent says of itself."""
        own = hello(self._agent, self.name)
        return agent_pb2.AgentReply(
            hello=agent_pb2.AgentHello(
                agent=own.agent,
                max_slots=own.max_slots,
                partial_turns=own.partial_turns,
                adapts=own.adapts,
                episodic=own.episodic,
                **hello_fields(ticket, answered),
            )
        )

    def read(self, message: Any) -> Numbered:
        """A numbered call; AgentInit fixes the spec of what follows."""
        numbered = decode_call(message, self._spec)
        if isinstance(numbered.call, AgentInit):
            self._spec = numbered.call.spec
            self._turns, self._actions = Repeats(), Repeats()
            keep_blocks_for(self._spec)
        elif self._spec is not None:
            see_turn(numbered, message, self._spec, self._turns)
        return numbered

    def read_repeated(self, seq: int, message: bytes, at: int) -> Numbered | None:
        """A turn."""
        spec = self._spec
        return None if spec is None else decode_repeated_turn(seq, message, at, spec, self._turns)

    def carry_out(self, call: Any) -> Any | None:
        """As the agent does."""
        self._agent.budget = call.budget
        return play(self._agent, call.call)

    def encode(self, seq: int, reply: Any) -> bytes:
        """An AgentReply."""
        return encode_repeated_actions(seq, reply, self._spec, self._actions)


class EnvironmentRole:
    """An environment."""

    role = lobby_pb2.ROLE_ENVIRONMENT
    calls = environment_pb2.EnvironmentCall

    def __init__(self, environment: Environment, name: str) -> None:
        self.name = name
        self._environment = environment
        self._spec: TaskSpec | None = None
        self._plays, self._played = Repeats(), Repeats()

    def hello(self, ticket: lobby_pb2.Ticket, answered: int) -> Any:
        """What the environment says of itself."""
        own = environment_hello(self._environment, self.name)
        return environment_pb2.EnvironmentReply(
            hello=environment_pb2.EnvironmentHello(
                environment=own.environment,
                max_slots=own.max_slots,
                **hello_fields(ticket, answered),
            )
        )

    def read(self, message: Any) -> Any:
        """A call."""
        call = decode_environment_call(message, self._spec)
        if self._spec is not None:
            see_play(call, message, self._spec, self._plays)
        return call

    def read_repeated(self, seq: int, message: bytes, at: int) -> Play | None:
        """A Play."""
        spec = self._spec
        return None if spec is None else decode_repeated_play(message, at, spec, self._plays)

    def carry_out(self, call: Any) -> Any | None:
        """As the environment does."""
        return play_environment(self._environment, call)

    def encode(self, seq: int, reply: Any) -> bytes:
        """An EnvironmentReply; EnvironmentReady fixes the spec of what follows."""
        if isinstance(reply, EnvironmentReady):
            self._spec = reply.spec
            self._plays, self._played = Repeats(), Repeats()
            keep_blocks_for(self._spec)
        return encode_repeated_played(seq, reply, self._spec, self._played)


def _explained(error: SessionLost, in_vain: int) -> str:
    """Why a stream ended, and why perhaps nothing came over so many."""
    if in_vain < _IN_VAIN:
        return str(error)
    return (
        f"{error}; no message arrived whole over the last {in_vain} connections: one that takes "
        f"longer than {MESSAGE_S} s breaks a gRPC connection. If the link is slow, ask the host "
        "for fewer slots or smaller observations"
    )
