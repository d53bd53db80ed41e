"""Where the glue meets an environment: the seam between it and every transport."""

from __future__ import annotations

from typing import Protocol

from reglue.environment_calls import EnvironmentCall, EnvironmentHello, EnvironmentReply
from reglue.errors import BadReply


class EnvironmentPort(Protocol):
    """An environment at the other end of a transport. One call is under way at a time."""

    @property
    def hello(self) -> EnvironmentHello:
        """What the environment said of itself."""

    def send(self, call: EnvironmentCall) -> None:
        """Hand over a call that is answered. Raises EnvironmentFault."""

    def receive(self, timeout_s: float) -> EnvironmentReply:
        """The answer to the last call.

        Raises EnvironmentFault (it is gone, too slow, or said that it failed) and
        BadReply (an answer that does not fit; the session goes on).
        """

    def refuse(self, refused: BadReply) -> None:
        """Tell the environment why its last answer was not taken."""

    def close(self, reason: str) -> None:
        """Say farewell and let the environment go."""
