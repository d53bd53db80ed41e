"""The glue: joins an agent and an environment, and plays episodes through them."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace

from glue_server.agent.agent_calls import AgentCalls, SlotAgent
from glue_server.agent.agent_port import AgentPort
from glue_server.agent.capability import refusal
from glue_server.agent.repetition import RecordedTurns, RepeatableAgent, Repetition
from glue_server.environment.environment_calls import EnvironmentCalls
from glue_server.episodes.loop import EpisodeLoop, NextOrder, Spent
from glue_server.episodes.observed import ObservedParts
from glue_server.episodes.recording import EpisodeRecording, Outcome
from glue_server.timeouts import Timeouts
from reglue.error_message import printable
from reglue.errors import AgentFault, NotCapable
from reglue.messages.agent_messages import (
    Adapt,
    AdaptBegin,
    Call,
    Cleanup,
    Freeze,
    Phase,
    Reply,
    TextMessage,
)
from reglue.spec import TaskSpec


class EpisodeRunner:
    """One agent and one environment, after its `init`. Every call waits for its answer.

    All raise AgentFault (or AgentTimeout, AgentDisconnected) when the agent is
    lost; no call after that makes sense.
    """

    def __init__(
        self,
        agent: AgentPort,
        environment: EnvironmentCalls,
        *,
        timeouts: Timeouts,
        clock: Callable[[], float] = time.perf_counter,
    ) -> None:
        self.spent = Spent()
        self.observed_to: ObservedParts | None = None  # who records what the agent sees
        self.hides_rewards = False  # from the agent in EVALUATE, with their range
        self.tell_long: Callable[[], None] | None = None  # called if an episode is LONG_STEPS long
        self.takes_refusals = False  # a task that the agent refuses ends the run as wrong usage
        self.asks_again = False  # the agent's first turns in EVALUATE, before its cleanup
        self.repetition: Repetition | None = None  # what came of it
        self._agent = AgentCalls(agent, timeouts, clock=clock)
        self._environment = environment
        self._clock = clock
        self._keeps = False  # what the agent has learned
        self._judged: RepeatableAgent | None = None  # its turns in the last evaluation

    @property
    def spec(self) -> TaskSpec:
        """The task that the agent receives."""
        spec = self._environment.spec
        if not self.hides_rewards:
            return spec
        return replace(spec, rewards_in_evaluation=False, reward_range=(-math.inf, math.inf))

    @property
    def recorded_turns(self) -> RecordedTurns | None:
        """The agent's first turns in its last evaluation, if it `asks_again`."""
        return None if self._judged is None else self._judged.recorded

    def init(self) -> None:
        """agent_init(env_init()): the agent becomes naive; nothing after `keep_learned`.

        Raises NotCapable if the agent refuses the task, and its refusal ends the run.
        """
        if self._keeps:
            return
        try:
            with self._agents_time():
                self._agent.init(self.spec)
        except AgentFault as fault:
            if self.takes_refusals and (why := refusal(fault)):
                name = printable(self._agent.hello.agent)
                raise NotCapable(f"{name} cannot play this: {why}") from None
            raise

    def keep_learned(self) -> None:
        """From now on `init` does nothing, so that the next player has the agent as it is."""
        self._keeps = True

    def freeze(self) -> None:
        """agent_freeze: what follows is judged."""
        self._call(Freeze())

    def adapt_begin(self) -> None:
        """The agent returns to its meta-trained state."""
        self._agent.check(self.spec, adapts=True)
        self._call(AdaptBegin())

    def adapt(self) -> None:
        """The agent learns from the episodes since the last adapt."""
        self._call(Adapt())

    def message(self, text: str) -> str:
        """agent_message: the agent's answer."""
        reply = self._call(TextMessage(text))
        return reply.text if isinstance(reply, TextMessage) else ""

    def cleanup(self) -> None:
        """Call agent_cleanup, unless the agent is lost while it is asked again."""
        if self._judged is not None:
            try:
                self.repetition = self._judged.ask_again()
            except AgentFault as fault:  # what it played is whole
                self.repetition = Repetition(fault=f"{fault.status}: {fault}")
                return
        self._call(Cleanup())

    def play(self, next_order: NextOrder, phase: Phase) -> Iterator[Outcome]:
        """Play until no free slot is given an order; outcomes as episodes end.

        A slot whose episode ended asks for its next order in the same turn, in the
        order of slots, after its outcome was yielded. An action that is not
        legal ends its own episode as the agent's error, and play goes on. When the
        agent is lost, every episode in play ends as its fault before that is raised.
        An episode that reaches its order's `max_steps` is cut off: the outcome is `ok`, and the
        agent is not told of an end, or, if the order `truncates`, of a TRUNCATED one.
        """
        repeats = self.asks_again and phase is Phase.EVALUATE
        kind = RepeatableAgent if repeats else SlotAgent
        agent = kind(self._agent, self.spec, clips=not self._environment.ready.raw_actions)
        self._judged = agent if isinstance(agent, RepeatableAgent) else None
        loop = EpisodeLoop(
            agent,
            self._environment,
            phase,
            next_order,
            spent=self.spent,
            clock=self._clock,
            recording=EpisodeRecording(self._environment.spec, self.observed_to, self.tell_long),
        )
        return loop.run()

    def _call(self, call: Call) -> Reply:
        """A routine other than a turn. An answer that does not fit ends the run."""
        with self._agents_time():
            return self._agent.call(call)

    @contextmanager
    def _agents_time(self) -> Iterator[None]:
        """Count the time spent within as the agent's."""
        began = self._clock()
        try:
            yield
        finally:
            self.spent.agent_s += self._clock() - began
