"""What an engine is: it plays what is left of a plan. `LocalEngine` plays it in this process."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

from glue_server import Spent
from glue_server.agent.repetition import Repetition
from reglue.errors import AgentFault
from reglue_bench.engines.agent_pool import AgentPool
from reglue_bench.procedures.procedure import Begin, MakeOrder, Procedure, Record, Todos, Watch


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


class LocalEngine(Engine):
    """Plays everything with the agents of one pool, one after another, in this process."""

    def __init__(self, procedure: Procedure, order: MakeOrder, pool: AgentPool) -> None:
        self._pool = pool
        self._procedure = procedure
        self._order = order

    @property
    def spent(self) -> Spent:
        """Of the pool."""
        return self._pool.spent

    @property
    def executed(self) -> int:
        """Of the pool."""
        return self._pool.executed

    @property
    def outside(self) -> int:
        """Of the pool."""
        return self._pool.outside

    @property
    def repetitions(self) -> Sequence[Repetition]:
        """Of the pool's last agent."""
        return [each for each in [self._pool.repetition] if each is not None]

    def open(self) -> None:
        """Wait for the first agent."""
        self._pool.open()

    def play(self, todo: Todos, *, begin: Begin, record: Record, watch: Watch) -> None:
        """One shard after another."""
        for shard in todo.dealt(self._procedure.agents):
            self._procedure.play(
                self._pool, shard, order=self._order, begin=begin, record=record, watch=watch
            )

    def explain(self, fault: AgentFault) -> str:
        """As the agent's host does."""
        return self._pool.explain(fault)

    def close(self, reason: str) -> None:
        """Close the pool."""
        self._pool.close(reason)
