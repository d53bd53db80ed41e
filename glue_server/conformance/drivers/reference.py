"""The conformance programs in this process: their answers are the wanted ones."""

from __future__ import annotations

from typing import Any, Protocol

from glue_server.agent.port import LocalPort
from glue_server.environment.port import LocalEnvironmentPort
from glue_server.routines.state_machine import StateMachine
from glue_server.timeouts import Timeouts
from reglue.agents.dispatch import play
from reglue.conformance import ConformanceAgent, ConformanceEnvironment
from reglue.environments.dispatch import play_environment
from reglue.errors import ReglueError
from reglue.messages.agent import Budget
from reglue.messages.environment import Played

TOLD_TO_FAIL = "told to fail"
"""Words of the failures that the kit asks for."""


class Reference(Protocol):
    """Gets the same calls as the client."""

    def answer(self, call: Any, budget: Budget) -> Any:
        """The reply that is wanted."""


class AgentReference:
    """Answers as an agent."""

    def __init__(self) -> None:
        self._agent = ConformanceAgent()

    def answer(self, call: Any, budget: Budget) -> Any:
        """As the agent does."""
        self._agent.budget = budget
        return play(self._agent, call)


class EnvironmentReference:
    """Answers as an environment."""

    def __init__(self) -> None:
        self._environment = ConformanceEnvironment()

    def answer(self, call: Any, budget: Budget) -> Any:
        """As the environment does; environments have no budget."""
        reply = play_environment(self._environment, call)
        if isinstance(reply, Played):
            assert set(reply.faults.values()) <= {TOLD_TO_FAIL}, reply.faults
        return reply


class GlueReference:
    """Answers as the glue: it plays routines over both programs."""

    def __init__(self) -> None:
        self._machine = StateMachine(
            LocalEnvironmentPort(ConformanceEnvironment(), "environment"),
            LocalPort(ConformanceAgent(), "agent"),
            timeouts=Timeouts(),
        )

    def answer(self, call: Any, budget: Budget) -> Any:
        """What the routine returns, or the error that it raises; programs have no budget."""
        try:
            return self._machine.run(call)
        except ReglueError as error:
            return error
