"""The glue: joins an agent and a pool of slots, and plays episodes through them."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import NoReturn

from env_adapters import Cell
from glue_server.episodes import Outcome
from glue_server.loop import EpisodeLoop, NextOrder
from glue_server.pool import Answer, Pool
from glue_server.port import AgentPort
from reglue.calls import (
    Adapt,
    AdaptBegin,
    Call,
    Cleanup,
    Done,
    Freeze,
    Init,
    Message,
    Phase,
    Reply,
    Turn,
)
from reglue.errors import AgentFault, BadReply
from reglue.spec import TaskSpec


@dataclass(frozen=True, slots=True)
class Timeouts:
    """How long an agent may take, seconds."""

    first_step_s: float = 300.0  # init, freeze, adapt, …, and the first turn: some compile
    step_s: float = 60.0  # every other turn


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
        self._agent = agent
        self._pool = pool
        self._timeouts = timeouts
        self._clock = clock
        self._turn_timeout_s = timeouts.first_step_s

    @property
    def spec(self) -> TaskSpec:
        """The task that the agent is told."""
        return self._pool.spec

    def init(self) -> None:
        """agent_init(env_init()): the agent becomes naive."""
        slots, most = self.spec.slots, self._agent.hello.max_slots
        if most and slots > most:
            self._give_up(f"at most {most} slots", f"{slots}: run it with --slots {most}")
        self._call(Init(self.spec))

    def freeze(self) -> None:
        """agent_freeze: what follows is judged."""
        self._call(Freeze())

    def adapt_begin(self) -> None:
        """The agent returns to its meta-trained state."""
        if not self._agent.hello.adapts:
            self._give_up(
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
        timeout_s, self._turn_timeout_s = self._turn_timeout_s, self._timeouts.step_s
        return self._send(turn, timeout_s)

    def _call(self, call: Call) -> Reply:
        """A routine other than a turn. An answer that does not fit is fatal: nobody can go on."""
        wanted = Message if isinstance(call, Message) else Done
        try:
            reply = self._send(call, self._timeouts.first_step_s)
            if not isinstance(reply, wanted):
                got = type(reply).__name__
                raise BadReply("WRONG_KIND", got=got, wanted=wanted.__name__)
        except BadReply as refused:
            self._agent.refuse(refused)
            raise
        return reply

    def _send(self, call: Call, timeout_s: float) -> Reply:
        began = self._clock()
        try:
            self._agent.send(call)
            return self._agent.receive(timeout_s)
        finally:
            self.spent.agent_s += self._clock() - began

    def _give_up(self, got: str, wanted: str) -> NoReturn:
        refused = BadReply("NOT_CAPABLE", got=got, wanted=wanted)
        self._agent.refuse(refused)
        raise AgentFault(str(refused))
