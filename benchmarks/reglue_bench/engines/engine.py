"""The interface of an engine, which plays the rest of a plan; `LocalEngine` plays it here."""

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


class LocalEngine(Engine):
    """Plays everything with the agents of one pool, one after another, in this process."""

    def __init__(self, procedure: Procedure, order: MakeOrder, pool: AgentPool) -> None:
        self._pool = pool
        self._procedure = procedure
        self._order = order

    @property
    def spent(self) -> Spent:
        """The pool's time."""
        return self._pool.spent

    @property
    def executed(self) -> int:
        """The pool's executed steps."""
        return self._pool.executed

    @property
    def outside(self) -> int:
        """The pool's observations outside of their Box."""
        return self._pool.outside

    @property
    def repetitions(self) -> Sequence[Repetition]:
        """The repetition of the pool's last agent."""
        return [each for each in [self._pool.repetition] if each is not None]

    def open(self) -> None:
        """Wait for the first agent."""
        self._pool.open()

    def play(self, todo: Todos, *, begin: Begin, record: Record, watch: Watch) -> None:
        """Play one shard after another."""
        for shard in todo.dealt(self._procedure.agents):
            self._procedure.play(
                self._pool, shard, order=self._order, begin=begin, record=record, watch=watch
            )

    def explain(self, fault: AgentFault) -> str:
        """Describe the fault as the agent's host does."""
        return self._pool.explain(fault)

    def close(self, reason: str) -> None:
        """Close the pool."""
        self._pool.close(reason)
