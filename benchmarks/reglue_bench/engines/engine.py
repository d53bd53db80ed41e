"""What an engine is: it plays what is left of a plan."""

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
        """How long agents and environments were waited for, seconds, over all of them."""

    @property
    @abstractmethod
    def executed(self) -> int:
        """Environment steps simulated so far."""

    @property
    @abstractmethod
    def outside(self) -> int:
        """Observations that were outside of their Box so far."""

    @property
    @abstractmethod
    def repetitions(self) -> Sequence[Repetition]:
        """What came of asking agents again; none where they were not asked."""

    @abstractmethod
    def open(self) -> None:
        """Get ready to play. Raises AgentFault, EnvironmentFault, UsageError."""

    @abstractmethod
    def play(self, todo: Todos, *, begin: Begin, record: Record, watch: Watch) -> None:
        """Play the units, say of each that it begins, and record it when it is whole.

        Raises EnvironmentFault, UsageError, and AgentFault if no other agent plays what is left.
        """

    @abstractmethod
    def explain(self, fault: AgentFault) -> str:
        """A fault in words, with what the agent printed."""

    @abstractmethod
    def close(self, reason: str) -> None:
        """End the agents, telling them the reason, and the environments."""
