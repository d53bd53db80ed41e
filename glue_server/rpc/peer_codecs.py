"""Codecs of calls to an agent and to an environment, and of their answers."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Protocol

from reglue.environments.validation import DomainCheck
from reglue.errors import (
    AgentDisconnected,
    AgentFault,
    AgentTimeout,
    BadAgentReply,
    BadReply,
    EnvironmentFault,
    EnvironmentTimeout,
    OutOfDomain,
    ReglueError,
    SpecError,
    UsageError,
)
from reglue.messages.agent_messages import (
    Actions,
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
from reglue.messages.environment_messages import (
    EnvironmentCall,
    EnvironmentReady,
    EnvironmentReply,
    Play,
    Played,
)
from reglue.process_tuning import keep_blocks_for
from reglue.spec import TaskSpec
from reglue.wire.agent_encoding import decode_reply
from reglue.wire.environment_encoding import decode_environment_reply, encode_environment_call
from reglue.wire.layout import Repeats
from reglue.wire.repeated_messages import (
    decode_repeated_actions,
    decode_repeated_played,
    encode_repeated_play,
    encode_repeated_turn,
    see_actions,
    see_played,
)
from reglue.wire.roles import AGENT, ENVIRONMENT, Role
from reglue.wire.sizes import check_size


class Codec(Protocol):
    """Encodes one role's calls, Refusal and Farewell, and decodes its answers."""

    def encode(self, seq: int, call: Any, budget: Budget) -> bytes:
        """The message of a call. Raises UsageError for one that is too large."""

    def decode(self, message: Any, call: Any) -> Any:
        """The answer to `call`. Raises BadReply, and the peer's fault if it says so."""

    def decode_repeated(self, message: bytes, at: int, call: Any) -> Any | None:
        """The answer to `call`, if its message is like an earlier one from `at` on, else None."""

    def timed_out(self, timeout_s: float) -> ReglueError:
        """The error of a peer that did not answer in time."""

    role: Role
    """Its name is in errors."""

    lost: type[ReglueError]
    """The error of a peer that is gone."""


class AgentCodec:
    """AgentCall and AgentReply."""

    role = AGENT
    lost: type[ReglueError] = AgentDisconnected

    def __init__(self, max_message_bytes: int) -> None:
        self._max_message_bytes = max_message_bytes
        self._spec: TaskSpec | None = None
        self._turns, self._actions = Repeats(), Repeats()

    def encode(self, seq: int, call: Call, budget: Budget) -> bytes:
        """An AgentCall; AgentInit fixes the spec of what follows. Raises UsageError (too large)."""
        if isinstance(call, AgentInit):
            check_size(call.spec, self._max_message_bytes)
            self._spec = call.spec
            self._turns, self._actions = Repeats(), Repeats()
            keep_blocks_for(self._spec)
        message = encode_repeated_turn(Numbered(seq, call, budget), self._spec, self._turns)
        if not isinstance(call, Turn):  # AgentInit has seen to those
            check_bytes(len(message), self._max_message_bytes)
        return message

    def decode(self, message: Any, call: Call) -> Reply:
        """The answer. Raises BadAgentReply, AgentFault."""
        rows = _rows(call) if isinstance(call, Turn) else 0
        try:
            reply = decode_reply(message, self._spec, rows)
        except BadReply as bad:
            raise BadAgentReply.of(bad) from bad
        if isinstance(reply, Fault):
            raise AgentFault(reply.what)
        if isinstance(reply, Actions) and not (reply.abandon or reply.held):
            assert self._spec is not None, "who decoded them asked for it"
            see_actions(message, rows, self._spec, self._actions)
        return reply

    def decode_repeated(self, message: bytes, at: int, call: Call) -> Actions | None:
        if self._spec is None or not isinstance(call, Turn):
            return None
        return decode_repeated_actions(message, at, _rows(call), self._spec, self._actions)

    def timed_out(self, timeout_s: float) -> ReglueError:
        return AgentTimeout.after(timeout_s)


class EnvironmentCodec:
    """EnvironmentCall and EnvironmentReply."""

    role = ENVIRONMENT
    lost: type[ReglueError] = EnvironmentFault

    def __init__(self, max_message_bytes: int) -> None:
        self._max_message_bytes = max_message_bytes
        self._spec: TaskSpec | None = None
        self._plays, self._played = Repeats(), Repeats()
        self._domains: DomainCheck

    def encode(self, seq: int, call: EnvironmentCall | Refusal | Farewell, budget: Budget) -> bytes:
        """An EnvironmentCall; environments have no budget."""
        if isinstance(call, Play) and self._spec is not None:  # env_init has seen to its size
            return encode_repeated_play(seq, call, self._spec, self._plays)
        message = encode_environment_call(seq, call, self._spec).SerializeToString()
        check_bytes(len(message), self._max_message_bytes)
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
            if self._spec != reply.spec:
                self._domains = DomainCheck(reply.spec, reply.nullable)  # else it counts on
                self._plays, self._played = Repeats(), Repeats()
            self._spec = reply.spec
            keep_blocks_for(self._spec)
        if isinstance(reply, Played) and isinstance(call, Play):
            if self._spec is not None and not reply.faults:
                see_played(message, call, self._spec, self._played)
            return self._checked(reply, call)
        return reply

    def decode_repeated(self, message: bytes, at: int, call: EnvironmentCall) -> Played | None:
        if self._spec is None or not isinstance(call, Play):
            return None
        played = decode_repeated_played(message, at, call, self._spec, self._played)
        return None if played is None else self._checked(played, call)

    def _checked(self, played: Played, play: Play) -> Played:
        """Add faults and a count of what lies outside its domain: not every client checks."""
        slots, domains = [*play.slots.tolist(), *play.starts], self._domains
        mistakes = domains.mistakes(played.observations, slots, played.faults)
        if not (mistakes or domains.outside_last):
            return played
        faults = {**played.faults, **mistakes}
        return replace(played, faults=faults, outside=domains.outside_last)

    def timed_out(self, timeout_s: float) -> ReglueError:
        return EnvironmentTimeout(
            f"the environment did not answer within {timeout_s:g} s (environment timeout)"
        )


def _rows(turn: Turn) -> int:
    """The number of rows that want an action."""
    return len(turn.steps.slots) + len(turn.starts.slots)


def check_bytes(size: int, most: int) -> None:
    """Raise OutOfDomain for a message that is too large."""
    if size > most:
        raise OutOfDomain(got=f"a message of {size} bytes", wanted=f"at most {most}")
