"""Where the glue meets an agent: the seam between it and every transport."""

from __future__ import annotations

import logging
from typing import Protocol

from reglue.agent import Agent
from reglue.calls import UNLIMITED, Budget, Call, Hello, Reply
from reglue.errors import AgentFault, BadReply
from reglue.player import hello, play

log = logging.getLogger("reglue")


class AgentPort(Protocol):
    """An agent at the other end of a transport. One call is under way at a time."""

    @property
    def hello(self) -> Hello:
        """What the agent said of itself."""

    def send(self, call: Call, budget: Budget = UNLIMITED) -> None:
        """Hand over a call that is answered, and what time remains. Raises AgentDisconnected."""

    def receive(self, timeout_s: float) -> Reply:
        """The answer to the last call.

        Raises AgentTimeout, AgentDisconnected, AgentFault (the agent said that it
        failed) and BadReply (an answer that does not fit; the session goes on).
        """

    def refuse(self, refused: BadReply) -> None:
        """Tell the agent why its last reply was not taken."""

    def close(self, reason: str) -> None:
        """Say farewell and let the agent go."""


class LocalPort:
    """An agent object in this process."""

    def __init__(self, agent: Agent, name: str) -> None:
        self._agent = agent
        self._reply: Reply | None = None
        self.hello = hello(agent, name)

    def send(self, call: Call, budget: Budget = UNLIMITED) -> None:
        """Let the agent answer at once; `receive` hands its answer out."""
        self._agent.budget = budget
        try:
            self._reply = play(self._agent, call)
        except Exception as error:
            log.exception("the agent failed")
            raise AgentFault(f"{type(error).__name__}: {error}") from error

    def receive(self, timeout_s: float) -> Reply:
        """The answer to the last call; it is there already."""
        assert self._reply is not None, "receive() follows a call that is answered"
        return self._reply

    def refuse(self, refused: BadReply) -> None:
        """Log it: the agent's author reads along."""
        log.warning("an answer was refused: %s", refused)

    def close(self, reason: str) -> None:
        """An object in this process needs no farewell."""
