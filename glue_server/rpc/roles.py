"""The three roles: their services, their sessions, and how their messages are coded."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from glue_server.rpc.admission import Terms
from glue_server.rpc.connection import Connection
from glue_server.rpc.session import PeerSession, StreamPort
from reglue.errors import (
    AgentDisconnected,
    AgentFault,
    AgentTimeout,
    BadReply,
    EnvironmentFault,
    EnvironmentTimeout,
    OutOfDomain,
    ReglueError,
    RoutineRefused,
    SpecError,
    UsageError,
    printable,
)
from reglue.messages.agent import (
    AgentHello,
    AgentInit,
    Budget,
    Call,
    Farewell,
    Fault,
    Numbered,
    Refusal,
    Reply,
    Turn,
)
from reglue.messages.environment import (
    EnvironmentCall,
    EnvironmentHello,
    EnvironmentReady,
    EnvironmentReply,
    Play,
)
from reglue.messages.experiment import Answer, ExperimentCall, ExperimentHello
from reglue.process_tuning import keep_blocks_for
from reglue.spec import TaskSpec, TensorSpec
from reglue.v1 import agent_pb2, environment_pb2, experiment_pb2, session_pb2
from reglue.wire.agent import decode_reply, encode_call
from reglue.wire.environment import decode_environment_reply, encode_environment_call
from reglue.wire.experiment import decode_experiment_call, encode_answer, encode_failure

_NAME = 200  # characters of a name that are kept


def _name(text: str) -> str:
    """A name as one line that may be printed."""
    return " ".join(printable(text[:_NAME]).split())


@dataclass(frozen=True, slots=True)
class Service:
    """The gRPC service of a role."""

    name: str  # full name of its service
    message: Any  # the class of what its peers send
    make_session: Callable[[Any, Terms], PeerSession]  # from a hello

    @property
    def method(self) -> str:
        """Full name of the method that opens a stream."""
        return f"/{self.name}/Session"


def _agent(hello: agent_pb2.AgentHello, terms: Terms) -> PeerSession:
    peer = AgentHello(
        agent=_name(hello.agent),
        sdk=_name(hello.sdk),
        max_slots=hello.max_slots,
        partial_turns=hello.partial_turns,
        adapts=hello.adapts,
        episodic=hello.episodic,
    )
    return StreamPort(
        peer, AgentCodec(terms.max_message_bytes), reconnect_window_s=terms.reconnect_window_s
    )


def _environment(hello: environment_pb2.EnvironmentHello, terms: Terms) -> PeerSession:
    peer = EnvironmentHello(_name(hello.environment), _name(hello.sdk), hello.max_slots)
    return StreamPort(
        peer, EnvironmentCodec(terms.max_message_bytes), reconnect_window_s=terms.reconnect_window_s
    )


def _experiment(hello: experiment_pb2.ExperimentHello, terms: Terms) -> PeerSession:
    peer = ExperimentHello(_name(hello.experiment), _name(hello.sdk))
    return ExperimentPort(peer, reconnect_window_s=terms.reconnect_window_s)


SERVICES: Mapping[str, Service] = {
    "agent": Service(
        agent_pb2.DESCRIPTOR.services_by_name["AgentService"].full_name,
        agent_pb2.AgentReply,
        _agent,
    ),
    "environment": Service(
        environment_pb2.DESCRIPTOR.services_by_name["EnvironmentService"].full_name,
        environment_pb2.EnvironmentReply,
        _environment,
    ),
    "experiment": Service(
        experiment_pb2.DESCRIPTOR.services_by_name["ExperimentService"].full_name,
        experiment_pb2.ExperimentCall,
        _experiment,
    ),
}
"""By role, as in `Lobby`."""


class AgentCodec:
    """AgentCall and AgentReply."""

    def __init__(self, max_message_bytes: int) -> None:
        self._max_message_bytes = max_message_bytes
        self._spec: TaskSpec | None = None

    def encode(self, seq: int, call: Call, budget: Budget) -> Any:
        """An AgentCall; AgentInit fixes the spec of what follows. Raises UsageError (too large)."""
        if isinstance(call, AgentInit):
            check_size(call.spec, self._max_message_bytes)
            self._spec = call.spec
            keep_blocks_for(self._spec)
        message = encode_call(Numbered(seq, call, budget), self._spec)
        if not isinstance(call, Turn):  # AgentInit has seen to those
            check_bytes(message.ByteSize(), self._max_message_bytes)
        return message

    def decode(self, message: Any, call: Call) -> Reply:
        """The answer. Raises BadReply, AgentFault."""
        rows = len(call.steps.slots) + len(call.starts.slots) if isinstance(call, Turn) else 0
        reply = decode_reply(message, self._spec, rows)
        if isinstance(reply, Fault):
            raise AgentFault(reply.what)
        return reply

    def timed_out(self, timeout_s: float) -> ReglueError:
        """AgentTimeout."""
        return AgentTimeout.after(timeout_s)

    def lost(self) -> ReglueError:
        """AgentDisconnected."""
        return AgentDisconnected("the agent's connection is gone")


class EnvironmentCodec:
    """EnvironmentCall and EnvironmentReply."""

    def __init__(self, max_message_bytes: int) -> None:
        self._max_message_bytes = max_message_bytes
        self._spec: TaskSpec | None = None

    def encode(self, seq: int, call: EnvironmentCall | Refusal | Farewell, budget: Budget) -> Any:
        """An EnvironmentCall; environments have no budget."""
        message = encode_environment_call(seq, call, self._spec)
        if not isinstance(call, Play):  # env_init has seen to those
            check_bytes(message.ByteSize(), self._max_message_bytes)
        return message

    def decode(self, message: Any, call: EnvironmentCall) -> EnvironmentReply:
        """The answer; EnvironmentReady fixes the spec. Raises BadReply, EnvironmentFault."""
        try:
            reply = decode_environment_reply(message, call, self._spec)
        except SpecError as error:
            raise EnvironmentFault(f"the environment's TaskSpec does not do: {error}") from error
        if isinstance(reply, Fault):
            raise EnvironmentFault(reply.what)
        if isinstance(reply, EnvironmentReady):
            try:
                check_size(reply.spec, self._max_message_bytes)
            except UsageError as error:
                raise EnvironmentFault(str(error)) from error
            self._spec = reply.spec
            keep_blocks_for(self._spec)
        return reply

    def timed_out(self, timeout_s: float) -> ReglueError:
        """EnvironmentTimeout."""
        return EnvironmentTimeout(
            f"the environment did not answer within {timeout_s:g} s (--environment-timeout)"
        )

    def lost(self) -> ReglueError:
        """EnvironmentFault."""
        return EnvironmentFault("the environment's connection is gone")


class ExperimentPort(PeerSession):
    """Answers a benchmark program, which asks one thing at a time.

    A call that comes again after a stream broke gets the answer that was made.
    """

    def __init__(self, hello: ExperimentHello, *, reconnect_window_s: float = 0.0) -> None:
        super().__init__(hello, reconnect_window_s=reconnect_window_s)
        self._taken = 0  # number of the last call that came in
        self._reply: experiment_pb2.ExperimentReply | None = None  # the last one that was made
        self._told: Connection | None = None  # over which it was sent
        self._spec: TaskSpec | None = None

    def next(self, timeout_s: float) -> ExperimentCall | None:
        """The next call; None if none came in `timeout_s` seconds. A malformed one is refused."""
        deadline = time.monotonic() + timeout_s
        while (left_s := deadline - time.monotonic()) > 0:
            if (found := self._next(left_s)) is None:
                continue
            message, _ = found
            if message is None:  # the stream has changed
                return None
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
            self._spec = answer
        self._put(encode_answer(self._taken, answer, self._spec))

    def fail(self, error: ReglueError) -> None:
        """Answer the last call by what went wrong."""
        self._put(encode_failure(self._taken, error))

    def _resumable(self) -> range:
        return range(self._taken - 1, self._taken + 1)

    def _is_wanted(self, message: Any) -> bool:
        """Whether it is the next call. The last call once more gets its answer once more."""
        if message.HasField("farewell"):
            self._is_lost = True
            self._hand_over(None)
            return False
        is_free = self._taken == 0 or self._reply is not None
        if message.seq == self._taken + 1 and is_free:
            self._taken, self._reply = message.seq, None
            return True
        if message.seq == self._taken and self._reply is not None:
            self._repeat(self._reply)
        return False

    def _say_farewell(self, reason: str) -> None:
        self._is_lost = True  # a program that comes back is told to join again
        if self._connection is not None:
            farewell = session_pb2.Farewell(reason=reason)
            self._connection.put(experiment_pb2.ExperimentReply(farewell=farewell))

    def _put(self, reply: experiment_pb2.ExperimentReply) -> None:
        with self._lock:
            self._reply, self._told = reply, None
            self._repeat(reply)

    def _repeat(self, reply: experiment_pb2.ExperimentReply) -> None:
        """Send the last reply, once over each stream, the lock being held."""
        if self._connection is not None and self._told is not self._connection:
            self._told = self._connection
            self._connection.put(reply)


def check_bytes(size: int, most: int) -> None:
    """Raise OutOfDomain for a message that is too large."""
    if size > most:
        raise OutOfDomain(got=f"a message of {size} bytes", wanted=f"at most {most}")


def check_size(spec: TaskSpec, max_message_bytes: int) -> None:
    """Raise UsageError if the fullest turn or answer would not fit into a message."""
    for what, rows, tensors in (
        ("a turn", 2 * spec.slots, spec.observations),
        ("an answer", spec.slots, spec.actions),
    ):
        size = rows * (64 + _row_bytes(tensors))
        if size > max_message_bytes:
            raise UsageError(
                f"{what} of {spec.slots} slots takes up to {size} bytes, the hub's limit is "
                f"{max_message_bytes}: use fewer slots"
            )


def _row_bytes(tensors: tuple[TensorSpec, ...]) -> int:
    return sum(tensor.row_bytes for tensor in tensors)
