"""The interface of an engine, which plays the rest of a plan."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

from glue_server import Spent
from glue_server.agent.repetition import Repetition
from reglue.errors import AgentFault
from reglue_bench.procedures.procedure import Begin, Record, Todos, Watch


class Engine(ABC):
    """Plays units of a plan; rows come back to the one writer of the ledger.

    What an agent does in a unit depends on the plan alone, so an engine changes no row.
    """

    @property
    @abstractmethod
    def spent(self) -> Spent:
        """The time spent waiting for agents and environments, seconds, summed over all of them."""

    @property
    @abstractmethod
    def executed(self) -> int:
        """Environment steps simulated so far."""

    @property
    @abstractmethod
    def outside(self) -> int:
        """Observations outside of their Box so far."""

    @property
    @abstractmethod
    def where(self) -> str:
        """The place of environments now, in words: the process that plays, if some are there.

        Empty as long as nobody knows.
        """

    @property
    @abstractmethod
    def repetitions(self) -> Sequence[Repetition]:
        """The results of asking agents their first turns again; empty if none was asked."""

    @abstractmethod
    def open(self) -> None:
        """Get ready to play. Raises AgentFault, EnvironmentFault, UsageError."""

    @abstractmethod
    def play(self, todo: Todos, *, begin: Begin, record: Record, watch: Watch) -> None:
        """Play the units: announce each with `begin`, and record it when it is complete.

        Raises EnvironmentFault, UsageError, and AgentFault if no other agent plays what is left.
        """

    @abstractmethod
    def explain(self, fault: AgentFault) -> str:
        """Describe a fault, with the agent's output."""

    @abstractmethod
    def close(self, reason: str) -> None:
        """End the agents, with this reason as their farewell, and the environments."""
