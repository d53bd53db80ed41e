"""How agents and environments are spoken to over gRPC."""

from __future__ import annotations

from typing import Any

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
)
from reglue.messages.agent import (
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
from reglue.messages.environment import EnvironmentCall, EnvironmentReady, EnvironmentReply, Play
from reglue.process_tuning import keep_blocks_for
from reglue.spec import TaskSpec, TensorSpec
from reglue.wire.agent import decode_reply, encode_call
from reglue.wire.environment import decode_environment_reply, encode_environment_call


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
        if not isinstance(call, Turn):  # Init has seen to those
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
    """Raise OutOfDomain for a message that nobody would take."""
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
