"""A benchmark program's session: sends each call, and sends it again if the connection broke."""

from __future__ import annotations

import time
from functools import partial
from typing import Any

from reglue.errors import (
    BadReply,
    OutOfDomain,
    ReglueError,
    SessionLost,
    SpecError,
    WrongToken,
)
from reglue.messages.agent_messages import INTERRUPTED
from reglue.messages.experiment_messages import Answer, ExperimentCall, RLStep, Stepped
from reglue.net.join_string import JoinString, Transport
from reglue.net.lobby import hello_fields
from reglue.net.log import CallTrace, call_trace
from reglue.net.session import FAREWELL_S, GlueSession
from reglue.spec import TaskSpec
from reglue.v1 import experiment_pb2 as pb
from reglue.v1 import lobby_pb2, session_pb2
from reglue.wire.experiment_encoding import decode_answer
from reglue.wire.layout import Repeats, numbered
from reglue.wire.repeated_messages import (
    decode_repeated_stepped,
    encode_repeated_step,
    see_stepped,
)
from reglue.wire.roles import EXPERIMENT


def open_experiment_session(
    join_string: JoinString,
    name: str,
    *,
    connect_timeout_s: float,
    timeout_s: float,
    transport: Transport,
) -> ExperimentSession:
    """A session that has joined, and logs its calls if REGLUE_TRACE asks for that.

    Raises as `Experiment`, and BadArgument for a wrong REGLUE_LOG or REGLUE_TRACE.
    """
    trace = call_trace()
    kind = partial(TracedExperimentSession, trace=trace) if trace else ExperimentSession
    return kind(
        join_string,
        name,
        connect_timeout_s=connect_timeout_s,
        timeout_s=timeout_s,
        transport=transport,
    )


class ExperimentSession(GlueSession):
    """Numbers calls, and sends each until it is answered."""

    def __init__(
        self,
        join_string: JoinString,
        name: str,
        *,
        connect_timeout_s: float,
        timeout_s: float,
        transport: Transport,
    ) -> None:
        """Joins. Raises as `Experiment`."""
        super().__init__(
            join_string, ProgramPeer(name), connect_timeout_s=connect_timeout_s, transport=transport
        )
        self._timeout_s = timeout_s
        self._spec: TaskSpec | None = None
        self._steps = Repeats()
        self._over = ""  # why nothing more can be asked
        self._join()

    def ask(self, call: ExperimentCall) -> Answer:
        """The result of the routine; raises what the routine raises, and SessionLost."""
        if self._over:
            raise SessionLost(self._over)
        seq = self._answered + 1
        message = encode_repeated_step(seq, call, self._spec)
        if len(message) > self._most:
            got = f"a call of {len(message)} bytes"
            raise OutOfDomain(got=got, wanted=f"at most {self._most}")
        try:
            reply = self._exchange(seq, message, call)
            self._answered = seq
            if type(reply) is Stepped:
                return reply
            answer = decode_answer(reply, call, self._spec)
            if self._spec is not None and type(call) is RLStep:
                see_stepped(answer, reply, self._spec, self._steps)
        except (BadReply, SpecError) as error:
            self._over = f"the glue sent what this client cannot read: {error}"
            raise SessionLost(self._over) from error
        if isinstance(answer, TaskSpec):
            self._spec, self._steps = answer, Repeats()
        return answer

    def leave(self, *, is_interrupted: bool = False) -> None:
        """Say that no more will be asked, and end the stream; over a new one if it broke.

        The glue then ends the other sessions, which a program that `is_interrupted` does not await.
        """
        if self._is_known and is_interrupted:
            self._leave_at_once(_goodbye(INTERRUPTED))
        elif self._is_known:
            self._leave(_goodbye("the program has left"), FAREWELL_S)
        self._is_known = False
        self._over = self._over or "the program has left"
        self._close()

    def _exchange(self, seq: int, message: bytes, call: ExperimentCall) -> Any:
        """`_send`, but an interrupt ends the session, as the answer is still to come."""
        try:
            return self._send(seq, message, call)
        except ReglueError as error:
            self._over = str(error)
            raise
        except BaseException:
            self._over = "the session is over: a routine was interrupted before its answer came"
            self._close()  # it may be cut in the middle of a message
            raise

    def _send(self, seq: int, message: bytes, call: ExperimentCall) -> Any:
        """Send until an answer comes. Raises SessionLost, Refused."""
        deadline = time.monotonic() + self._timeout_s
        while True:
            try:
                (self._stream or self._open()).send(message)
                return self._reply(seq, call, deadline)
            except WrongToken as error:  # of the ticket: the run's process has ended
                self._is_known = False
                raise SessionLost("the glue does not know this session any more") from error
            except SessionLost as error:
                if self._over or not self._may_return(error, until=deadline):
                    raise

    def _reply(self, seq: int, call: ExperimentCall, deadline: float) -> Any:
        """The message of the answer to call `seq`, or the answer if it is like an earlier one.

        Raises SessionLost, also for a farewell, and Refused.
        """
        head = numbered(seq)
        while True:
            content = self._receive(max(0.0, deadline - time.monotonic()))
            if content is None:
                raise SessionLost(
                    f"the routine took longer than its {self._timeout_s:g} s: are an agent and an "
                    "environment there? The session is over"
                )
            if self._spec and type(call) is RLStep and content.startswith(head):
                answer = decode_repeated_stepped(content, len(head), self._spec, self._steps)
                if answer is not None:
                    return answer
            reply = self._parsed(content)
            if reply.HasField("farewell"):
                self._is_known = False
                self._close()
                self._over = f"the glue has ended the session: {reply.farewell.reason}"
                raise SessionLost(self._over)
            if reply.seq == seq:
                return reply


def _goodbye(reason: str) -> bytes:
    farewell = session_pb2.Farewell(reason=reason)
    return pb.ExperimentCall(farewell=farewell).SerializeToString()


class TracedExperimentSession(ExperimentSession):
    """Logs each call once it is answered."""

    def __init__(self, *arguments: Any, trace: CallTrace, **more: Any) -> None:
        super().__init__(*arguments, **more)
        self._trace = trace
        self._came = 0  # bytes of the last message

    def _exchange(self, seq: int, message: bytes, call: ExperimentCall) -> Any:
        name = pb.ExperimentCall.FromString(message).WhichOneof("call")
        self._trace.begin(name, len(message))
        reply = super()._exchange(seq, message, call)
        self._trace.end(self._came)
        return reply

    def _receive(self, timeout_s: float | None = None) -> bytes | None:
        message = super()._receive(timeout_s)
        self._came = len(message or b"")
        return message


class ProgramPeer:
    """A benchmark program, which sends the calls."""

    role = EXPERIMENT

    def __init__(self, name: str) -> None:
        self.name = name

    def hello(self, ticket: lobby_pb2.Ticket, answered: int) -> Any:
        """The program's description of itself."""
        fields = hello_fields(ticket, answered)
        hello = pb.ExperimentHello(experiment=self.name[:200], **fields)
        return pb.ExperimentCall(hello=hello)
