"""The glue: joins an agent and a pool of slots, and plays episodes through them."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass

from env_adapters import Cell
from glue_server.agent_calls import AgentCalls
from glue_server.episodes import Outcome
from glue_server.loop import EpisodeLoop, NextOrder
from glue_server.played import Answer
from glue_server.pool import Pool
from glue_server.port import AgentPort
from glue_server.timeouts import Timeouts
from reglue.calls import (
    Adapt,
    AdaptBegin,
    Call,
    Cleanup,
    Freeze,
    Message,
    Phase,
    Reply,
    Turn,
)
from reglue.spec import TaskSpec


@dataclass(slots=True)
class Spent:
    """Where the time of a glue went so far, seconds."""

    agent_s: float = 0.0
    environment_s: float = 0.0


class SlotGlue:
    """One agent, one pool. Every call waits for its answer.

    All raise AgentFault (or AgentTimeout, AgentDisconnected) when the agent is
    lost; no call after that makes sense.
    """

    def __init__(
        self,
        agent: AgentPort,
        pool: Pool,
        *,
        timeouts: Timeouts,
        clock: Callable[[], float] = time.perf_counter,
    ) -> None:
        self.spent = Spent()
        self._agent = AgentCalls(agent, timeouts, clock=clock)
        self._pool = pool
        self._clock = clock

    @property
    def spec(self) -> TaskSpec:
        """The task that the agent is told."""
        return self._pool.spec

    def init(self) -> None:
        """agent_init(env_init()): the agent becomes naive."""
        slots, most = self.spec.slots, self._agent.hello.max_slots
        if most and slots > most:
            self._agent.give_up(f"at most {most} slots", f"{slots}: run it with --slots {most}")
        with self._agents_time():
            self._agent.init(self.spec)

    def freeze(self) -> None:
        """agent_freeze: what follows is judged."""
        self._call(Freeze())

    def adapt_begin(self) -> None:
        """The agent returns to its meta-trained state."""
        if not self._agent.hello.adapts:
            self._agent.give_up(
                "an agent that cannot adapt", "init(), adapt_action(), step() and adapt()"
            )
        self._call(AdaptBegin())

    def adapt(self) -> None:
        """The agent learns from the episodes since the last adapt."""
        self._call(Adapt())

    def message(self, text: str) -> str:
        """agent_message: the agent's answer."""
        reply = self._call(Message(text))
        return reply.text if isinstance(reply, Message) else ""

    def cleanup(self) -> None:
        """agent_cleanup."""
        self._call(Cleanup())

    def play(self, next_order: NextOrder, phase: Phase) -> Iterator[Outcome]:
        """Play until no free slot is given an order; outcomes as episodes end.

        A slot whose episode ended asks for its next order in the same turn, in the
        order of slots, after the outcome was handed out. An action that is not
        legal ends its own episode as the agent's error, and play goes on. When the
        agent is lost, every episode in play ends as its fault before that is raised.
        An episode that reaches its order's `max_steps` is cut off: the agent is not
        told of an end, the outcome is `ok`.
        """
        loop = EpisodeLoop(
            self.spec,
            phase,
            next_order,
            exchange=self._exchange,
            ask=self._ask,
            refuse=self._agent.refuse,
        )
        return loop.run()

    def _exchange(
        self, starts: Mapping[int, Cell], steps: Mapping[int, bytes]
    ) -> dict[int, Answer]:
        """Begin and step in the pool; every answer, in the order of slots."""
        began = self._clock()
        wanted = len(starts) + len(steps)
        answers: dict[int, Answer] = {}
        if wanted:
            self._pool.send(starts, steps)
        while len(answers) < wanted:
            answers |= self._pool.receive()
        self.spent.environment_s += self._clock() - began
        return dict(sorted(answers.items()))

    def _ask(self, turn: Turn) -> Reply:
        """The agent's answer to a turn."""
        with self._agents_time():
            return self._agent.turn(turn)

    def _call(self, call: Call) -> Reply:
        """A routine other than a turn. An answer that does not fit is fatal: nobody can go on."""
        with self._agents_time():
            return self._agent.call(call)

    @contextmanager
    def _agents_time(self) -> Iterator[None]:
        """Book what passes within to the agent."""
        began = self._clock()
        try:
            yield
        finally:
            self.spent.agent_s += self._clock() - began
