"""The three roles: their services, their sessions, and how their messages are coded."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from glue_server.rpc.admission import Terms
from glue_server.rpc.session import ExperimentPort, PeerSession, StreamPort
from reglue.errors import (
    AgentDisconnected,
    AgentFault,
    AgentTimeout,
    EnvironmentFault,
    EnvironmentTimeout,
    OutOfDomain,
    ReglueError,
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
from reglue.messages.experiment import ExperimentHello
from reglue.process_tuning import keep_blocks_for
from reglue.spec import TaskSpec, TensorSpec
from reglue.v1 import agent_pb2, environment_pb2, experiment_pb2
from reglue.wire.agent import decode_reply, encode_call
from reglue.wire.environment import decode_environment_reply, encode_environment_call

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
    who = AgentHello(
        agent=_name(hello.agent),
        sdk=_name(hello.sdk),
        max_slots=hello.max_slots,
        partial_turns=hello.partial_turns,
        adapts=hello.adapts,
        episodic=hello.episodic,
    )
    return StreamPort(
        who, AgentCodec(terms.max_message_bytes), reconnect_window_s=terms.reconnect_window_s
    )


def _environment(hello: environment_pb2.EnvironmentHello, terms: Terms) -> PeerSession:
    who = EnvironmentHello(_name(hello.environment), _name(hello.sdk), hello.max_slots)
    return StreamPort(
        who, EnvironmentCodec(terms.max_message_bytes), reconnect_window_s=terms.reconnect_window_s
    )


def _experiment(hello: experiment_pb2.ExperimentHello, terms: Terms) -> PeerSession:
    who = ExperimentHello(_name(hello.experiment), _name(hello.sdk))
    return ExperimentPort(who, reconnect_window_s=terms.reconnect_window_s)


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
