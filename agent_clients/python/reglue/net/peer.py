"""The part of a session that depends on its peer: an agent or an environment."""

from __future__ import annotations

from typing import Any, Protocol

from reglue.agents.agent import Agent, hello, play
from reglue.environments.environment import Environment
from reglue.environments.environment_dispatch import environment_hello, play_environment
from reglue.messages.agent_messages import AgentInit, Numbered
from reglue.messages.environment_messages import EnvironmentReady, Play
from reglue.net.lobby import hello_fields
from reglue.net.log import CallTrace
from reglue.process_tuning import keep_blocks_for
from reglue.spec import TaskSpec
from reglue.v1 import agent_pb2, environment_pb2, lobby_pb2
from reglue.wire.agent_encoding import decode_call
from reglue.wire.environment_encoding import decode_environment_call
from reglue.wire.layout import Repeats
from reglue.wire.repeated_messages import (
    decode_repeated_play,
    decode_repeated_turn,
    encode_repeated_actions,
    encode_repeated_played,
    see_play,
    see_turn,
)
from reglue.wire.roles import AGENT, ENVIRONMENT, Role


class Peer(Protocol):
    """A peer's introduction to the glue."""

    role: Role
    name: str

    def hello(self, ticket: lobby_pb2.Ticket, answered: int) -> Any:
        """The message that begins a stream."""


class AnsweringPeer(Peer, Protocol):
    """An agent or an environment: it answers calls."""

    def read(self, message: Any) -> Any:
        """The call in a message. Raises BadReply and SpecError."""

    def read_repeated(self, seq: int, message: bytes, at: int) -> Any | None:
        """The call `seq`, if its message is like an earlier one from `at` on, else None."""

    def carry_out(self, call: Any) -> Any | None:
        """The peer's reply; None for calls that are not answered. Raises what the peer raises."""

    def encode(self, seq: int, reply: Any) -> bytes:
        """The message that answers call `seq`."""


class AgentPeer:
    """An agent."""

    role = AGENT

    def __init__(self, agent: Agent, name: str) -> None:
        self.name = name
        self._agent = agent
        self._spec: TaskSpec | None = None
        self._turns, self._actions = Repeats(), Repeats()

    def hello(self, ticket: lobby_pb2.Ticket, answered: int) -> Any:
        """The agent's description of itself."""
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
        """Let the agent carry it out."""
        self._agent.budget = call.budget
        return play(self._agent, call.call)

    def encode(self, seq: int, reply: Any) -> bytes:
        """An AgentReply."""
        return encode_repeated_actions(seq, reply, self._spec, self._actions)


class EnvironmentPeer:
    """An environment."""

    role = ENVIRONMENT

    def __init__(self, environment: Environment, name: str) -> None:
        self.name = name
        self._environment = environment
        self._spec: TaskSpec | None = None
        self._plays, self._played = Repeats(), Repeats()

    def hello(self, ticket: lobby_pb2.Ticket, answered: int) -> Any:
        """The environment's description of itself."""
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
        """Let the environment carry it out."""
        return play_environment(self._environment, call)

    def encode(self, seq: int, reply: Any) -> bytes:
        """An EnvironmentReply; EnvironmentReady fixes the spec of what follows."""
        if isinstance(reply, EnvironmentReady):
            self._spec = reply.spec
            self._plays, self._played = Repeats(), Repeats()
            keep_blocks_for(self._spec)
        return encode_repeated_played(seq, reply, self._spec, self._played)


class TracedPeer:
    """A peer whose calls are logged once they are answered."""

    def __init__(self, peer: AnsweringPeer, trace: CallTrace) -> None:
        self.role, self.name = peer.role, peer.name
        self.hello, self.carry_out = peer.hello, peer.carry_out
        self._peer = peer
        self._trace = trace

    def read(self, message: Any) -> Any:
        """Begin a line of the trace, and read the message."""
        self._trace.begin(message.WhichOneof("call") or "unknown", message.ByteSize())
        return self._peer.read(message)

    def read_repeated(self, seq: int, message: bytes, at: int) -> Any | None:
        """Like the peer's; it parses the message for its name alone."""
        call = self._peer.read_repeated(seq, message, at)
        if call is not None:
            self._trace.begin(
                self.role.from_glue.FromString(message).WhichOneof("call"), len(message)
            )
        return call

    def encode(self, seq: int, reply: Any) -> bytes:
        """Like the peer's. Unsolicited messages have no number."""
        answer = self._peer.encode(seq, reply)
        if seq:
            self._trace.end(len(answer))
        return answer
