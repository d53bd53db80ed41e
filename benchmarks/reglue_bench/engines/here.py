"""The engine of one agent after another, driven by this process."""

from __future__ import annotations

from collections.abc import Sequence

from glue_server import Spent
from glue_server.agent.repetition import Repetition
from reglue.errors import AgentFault
from reglue_bench.engines.agent_pool import AgentPool
from reglue_bench.engines.engine import Engine
from reglue_bench.procedures.procedure import Begin, MakeOrder, Procedure, Record, Todos, Watch


class HereEngine(Engine):
    """Plays everything with the agents of one pool."""

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
