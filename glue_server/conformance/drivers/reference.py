"""The conformance programs in this process: their answers are the wanted ones."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

from glue_server.agent.agent_port import LocalPort
from glue_server.environment.environment_port import LocalEnvironmentPort
from glue_server.routines.state_machine import StateMachine
from glue_server.timeouts import Timeouts
from reglue.agents.agent import play
from reglue.conformance import ConformanceAgent, ConformanceEnvironment
from reglue.environments.environment_dispatch import play_environment
from reglue.errors import ReglueError
from reglue.messages.agent_messages import Budget
from reglue.messages.environment_messages import Played

TOLD_TO_FAIL = "told to fail"
"""Words of the failures that the kit asks for."""

Reference: TypeAlias = Callable[[Any, Budget], Any]
"""Gets the same calls as the client, with their budget; returns the reply that is wanted."""


def agent_reference() -> Reference:
    """Answers as an agent."""
    agent = ConformanceAgent()

    def answer(call: Any, budget: Budget) -> Any:
        agent.budget = budget
        return play(agent, call)

    return answer


def environment_reference() -> Reference:
    """Answers as an environment, which has no budget."""
    environment = ConformanceEnvironment()

    def answer(call: Any, _: Budget) -> Any:
        reply = play_environment(environment, call)
        if isinstance(reply, Played):
            assert set(reply.faults.values()) <= {TOLD_TO_FAIL}, reply.faults
        return reply

    return answer


def glue_reference() -> Reference:
    """Answers as the glue, by a return value or an error: it plays over both programs."""
    machine = StateMachine(
        LocalEnvironmentPort(ConformanceEnvironment(), "environment"),
        LocalPort(ConformanceAgent(), "agent"),
        timeouts=Timeouts(),
    )

    def answer(call: Any, _: Budget) -> Any:
        try:
            return machine.run(call)
        except ReglueError as error:
            return error

    return answer
