"""What a session knows of its peer: an agent, an environment, or a benchmark program."""

from __future__ import annotations

from typing import Any, Protocol

from reglue.net.log import CallTrace
from reglue.v1 import lobby_pb2


class Role(Protocol):
    """How a peer introduces itself to the glue."""

    role: lobby_pb2.Role
    name: str
    calls: Any  # the class of the messages that come in

    def hello(self, ticket: lobby_pb2.Ticket, answered: int) -> Any:
        """The message that begins a stream."""


class AnsweringRole(Role, Protocol):
    """An agent or an environment: it answers calls."""

    def read(self, message: Any) -> Any:
        """The call in a message. Raises BadReply and SpecError."""

    def read_repeated(self, seq: int, message: bytes, at: int) -> Any | None:
        """The call `seq`, if its message is like an earlier one from `at` on, else None."""

    def carry_out(self, call: Any) -> Any | None:
        """The peer's reply; None for calls that are not answered. Raises what the peer raises."""

    def encode(self, seq: int, reply: Any) -> bytes:
        """The message that answers call `seq`."""


class TracedRole:
    """A role whose calls are logged once they are answered."""

    def __init__(self, role: AnsweringRole, trace: CallTrace) -> None:
        self.role, self.name, self.calls = role.role, role.name, role.calls
        self.hello, self.carry_out = role.hello, role.carry_out
        self._role = role
        self._trace = trace

    def read(self, message: Any) -> Any:
        """As the role does."""
        self._trace.begin(message.WhichOneof("call") or "unknown", message.ByteSize())
        return self._role.read(message)

    def read_repeated(self, seq: int, message: bytes, at: int) -> Any | None:
        """As the role does; it parses the message for its name alone."""
        call = self._role.read_repeated(seq, message, at)
        if call is not None:
            self._trace.begin(self.calls.FromString(message).WhichOneof("call"), len(message))
        return call

    def encode(self, seq: int, reply: Any) -> bytes:
        """As the role does. Unsolicited messages have no number."""
        answer = self._role.encode(seq, reply)
        if seq:
            self._trace.end(len(answer))
        return answer
