"""The seam between the glue and an agent, whatever the transport."""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable, Sequence
from typing import Protocol, TypeAlias

from glue_server.agent.capability import refusal
from glue_server.processes.interrupts import raise_stop
from reglue.agents.agent import Agent, hello, play
from reglue.error_message import error_text
from reglue.errors import AgentFault, BadReply
from reglue.messages.agent_messages import UNLIMITED, AgentHello, AgentInit, Budget, Call, Reply
from reglue.tracebacks import explained
from reglue.version import sdk

log = logging.getLogger("reglue")


MoreTime: TypeAlias = Callable[[], float]
"""Returns the extra seconds for an answer whose time is up; 0: it is late."""


class AgentPort(Protocol):
    """An agent at the other end of a transport.

    Calls are answered in their order; up to WINDOW may be sent before the first answer is
    received. A call that was not answered in time is over: its answer is taken for no other's.
    """

    @property
    def hello(self) -> AgentHello:
        """The agent's description of itself."""

    @property
    def waited_s(self) -> float:
        """Seconds between the last answer's arrival and its receipt: no time of the agent's."""

    def send(self, call: Call, budget: Budget = UNLIMITED) -> None:
        """Hand over a call that is answered, and what time remains. Raises AgentDisconnected."""

    @property
    def owed(self) -> int:
        """The number of calls that were not answered in time, nor since."""

    @property
    def is_away(self) -> bool:
        """Whether its connection is broken, and may come back."""

    @property
    def away_s(self) -> float:
        """For how long its connection has been broken by now, in all."""

    @property
    def reconnect_window_s(self) -> float:
        """Seconds that the agent may take to come back."""

    def receive(self, timeout_s: float, more_s: MoreTime | None = None) -> Reply | None:
        """The answer to the oldest call that waits for one.

        When its time is up, it is waited for longer: `more_s()` seconds, until that is 0.

        None: one came that is late, to a call that is over, so the agent was busy until now.

        Raises AgentTimeout, AgentDisconnected, AgentFault (the agent said that it
        failed) and BadAgentReply (an answer that does not fit; the session goes on).
        """

    def filenos(self) -> Sequence[int]:
        """One is readable when an answer, or the beginning of one, or a loss waits.

        Empty if the answer is there once `send` has returned.
        """

    def refuse(self, refused: BadReply) -> None:
        """Tell the agent why its last reply was not taken."""

    def close(self, reason: str) -> None:
        """Say farewell and let the agent go."""


class _InProcess:
    """The common part of the ports of this process: an answer never has to be waited for."""

    waited_s = 0.0
    owed = 0
    is_away = False
    away_s = 0.0
    reconnect_window_s = 0.0

    def filenos(self) -> Sequence[int]:
        """None: the answer is there."""
        return ()

    def refuse(self, refused: BadReply) -> None:
        """Log it: the agent's author reads along."""
        log.warning("an answer was refused: %s", refused)

    def close(self, reason: str) -> None:
        """Nobody needs a farewell here."""


class LocalPort(_InProcess):
    """An agent object in this process, which it cannot end: see LocalEnvironmentPort."""

    def __init__(self, agent: Agent, name: str) -> None:
        self._agent = agent
        self._replies: deque[Reply] = deque()
        self.hello = hello(agent, name)

    def send(self, call: Call, budget: Budget = UNLIMITED) -> None:
        """Let the agent answer at once; `receive` hands its answer out."""
        self._agent.budget = budget
        try:
            reply = play(self._agent, call)
        except BaseException as error:
            raise_stop(error)
            if not (isinstance(call, AgentInit) and refusal(error_text(error))):
                log.error("the agent failed: %s", explained(error))
            raise AgentFault(error_text(error)) from error
        assert reply is not None, "only calls that are answered are sent"
        self._replies.append(reply)

    def receive(self, timeout_s: float, more_s: MoreTime | None = None) -> Reply:
        """The answer to the oldest call; it is there already."""
        return self._replies.popleft()


class ProgramPort(_InProcess):
    """An agent that is a program's loop: the driver of the glue hands each call to it.

    `send` leaves a call in `call`; its answer has to be given before `receive`.
    """

    call: Call

    def __init__(self, name: str) -> None:
        self.hello = AgentHello(name, sdk())
        self._reply: Reply | None = None

    def send(self, call: Call, budget: Budget = UNLIMITED) -> None:
        """Leave a call. Its arrays are the glue's: the program copies them."""
        self.call = call

    def answer(self, reply: Reply | None) -> None:
        """Answer the call."""
        self._reply = reply

    def receive(self, timeout_s: float, more_s: MoreTime | None = None) -> Reply:
        reply, self._reply = self._reply, None
        assert reply is not None, "the program answers before the glue goes on"
        return reply
