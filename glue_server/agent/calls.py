"""The agent's routines, each called and waited for."""

from __future__ import annotations

import math
import threading
import time
from collections import deque
from collections.abc import Callable, Collection, Sequence
from typing import NoReturn

from glue_server.agent.capability import incapability
from glue_server.agent.port import AgentPort
from glue_server.agent.time_budget import TimeBudget
from glue_server.processes.event_loop import sleep
from glue_server.processes.interrupts import check_stop, wait_or_stop
from glue_server.timeouts import Timeouts
from reglue.errors import AgentDisconnected, AgentFault, AgentTimeout, BadAgentReply, BadReply
from reglue.messages.agent import AgentHello, AgentInit, Call, Reply, RoutineDone, TextMessage
from reglue.messages.environment import Slots
from reglue.spec import TaskSpec

MOST_OWED = 8
"""Late answers that an agent may owe before it is lost, where default actions are played: as many
as it remembers for a stream that breaks."""

_LOOK_S = 0.05  # how often an agent that is away is looked for


class AgentCalls:
    """Calls an agent through its port. All raise AgentFault when the agent is lost."""

    def __init__(
        self,
        port: AgentPort,
        timeouts: Timeouts,
        *,
        clock: Callable[[], float] = time.monotonic,
        stop: threading.Event | None = None,
    ) -> None:
        """Once `stop` is set, calls raise KeyboardInterrupt, as does a wait under way."""
        self._port = port
        self._budget = TimeBudget(timeouts)
        self._plays_defaults = timeouts.plays_defaults
        self.turn_every_s = timeouts.turn_every_s  # 0: turns are sent at once
        self._clock = clock
        self._stop = stop
        self._under_way: deque[tuple[Call, float]] = deque()  # and when each was sent
        self._free_since = -math.inf  # when the agent gave its last answer
        self._absence_s = 0.0  # by which absences may still lengthen calls in this run
        self._away_s = 0.0  # of the port's, by when the time of a call was last lengthened

    @property
    def hello(self) -> AgentHello:
        """What the agent said of itself."""
        return self._port.hello

    def init(self, spec: TaskSpec) -> None:
        """agent_init(spec). Raises AgentFault, too, if the agent cannot play that."""
        self.check(spec)
        self._absence_s = self._port.reconnect_window_s + _LOOK_S
        self.call(AgentInit(spec))

    def filenos(self) -> Sequence[int]:
        """One is readable when an answer waits; none where it is there after `send`."""
        return self._port.filenos()

    def call(self, call: Call) -> Reply:
        """A routine other than a turn. Raises BadAgentReply after telling the agent."""
        wanted = TextMessage if isinstance(call, TextMessage) else RoutineDone
        try:
            self.send(call)
            reply = self.receive()
            if not isinstance(reply, wanted):
                got = type(reply).__name__
                raise BadAgentReply("WRONG_KIND", got=got, wanted=wanted.__name__)
        except BadAgentReply as refused:
            self._port.refuse(refused)
            raise
        return reply

    def send(self, call: Call) -> None:
        """Hand a call over. Several may be under way; they are answered in their order."""
        check_stop(self._stop)
        budget = self._budget.budget(call)
        since = self._clock()
        try:
            self._port.send(call, budget)
        except AgentDisconnected:
            while self._under_way:  # what it said before it left says more
                self.receive()
            check_stop(self._stop)
            raise
        self._under_way.append((call, since))

    def receive(self) -> Reply:
        """Wait for the answer to the oldest call.

        The agent's time begins when it is free to begin with that call.
        """
        call, since = self._under_way.popleft()
        since = max(since, self._free_since)
        self._away_s = self._port.away_s
        timeout_s = self._budget.wait_s(call)
        try:
            # Anew whenever the agent was busy with an earlier one until now.
            while (reply := self._received(timeout_s)) is None:
                pass
            return reply
        finally:
            self._free_since = self._clock() - self._port.waited_s
            self._budget.spend(call, self._free_since - since)

    def wait_for_turn(self) -> None:
        """Wait until the next turn may be sent, however long the environment took for it.

        The time since the agent's last answer is a multiple of `turn_every_s` then: if it counted
        from anything else, an agent could choose when to answer, and so measure the environment.
        """
        if not self.turn_every_s or self._free_since == -math.inf:
            return
        left_s = self.turn_every_s - (self._clock() - self._free_since) % self.turn_every_s
        if self._stop is None:
            sleep(left_s)
        else:
            self._stop.wait(left_s)

    def answer(self) -> Reply | None:
        """The answer to the oldest call, a turn; None where it is late and a default is played.

        Raises AgentTimeout, too, of an agent that owes MOST_OWED answers.
        """
        try:
            return self.receive()
        except AgentTimeout as late:
            if not self._plays_defaults:
                raise
            if self._port.owed >= MOST_OWED:
                raise AgentTimeout(
                    f"the agent owes the answers to {self._port.owed} turns by now; {late}"
                ) from late
        while self._port.is_away:  # one default is played, however long it is away
            check_stop(self._stop)
            sleep(_LOOK_S)
        return None

    def note_held(self, asked: Slots, held: Collection[int]) -> None:
        """Which slots of the turn that was answered last the agent holds: their time goes on."""
        self._budget.note_held(asked, held)

    def charge(self, seconds: float) -> None:
        """Take time from the run's that the agent's actions cost: they made environments fail."""
        self._budget.charge(seconds)

    def _received(self, timeout_s: float) -> Reply | None:
        if self._stop is None:
            return self._port.receive(timeout_s, self._more_s)
        until = time.monotonic() + timeout_s

        def is_ready() -> bool:
            nonlocal until
            if self._port.is_ready():
                return True
            if time.monotonic() >= until:
                until += self._more_s()
            return time.monotonic() >= until

        wait_or_stop(is_ready, self.filenos, self._stop)
        try:
            return self._port.receive(max(0.0, until - time.monotonic()), self._more_s)
        except AgentTimeout as late:
            check_stop(self._stop)
            raise AgentTimeout.after(timeout_s) from late
        except AgentFault:  # no fault of an agent that hears the same Ctrl-C
            check_stop(self._stop)
            raise

    def _more_s(self) -> float:
        """How long the agent's connection was broken in the time that is up now.

        In a run that is at most one reconnect window in all: else an agent that breaks its
        connection gains time. Where a default action can be played, that is played.
        """
        check_stop(self._stop)
        if self._plays_defaults:
            return 0.0
        before, self._away_s = self._away_s, self._port.away_s
        more = self._away_s - before
        if self._port.is_away:
            more = max(more, _LOOK_S)
        more = min(more, self._absence_s)
        self._absence_s -= more
        return more

    def refuse(self, refused: BadReply) -> None:
        """Tell the agent why its last answer was not taken."""
        self._port.refuse(refused)

    def check(self, spec: TaskSpec, *, adapts: bool = False) -> None:
        """Raise AgentFault, and tell the agent, if it said that it cannot play this."""
        if (refused := incapability(self.hello, spec, adapts=adapts)) is not None:
            self.give_up(refused.got, refused.wanted)

    def give_up(self, got: str, wanted: str) -> NoReturn:
        """Tell the agent that it cannot play this, and raise AgentFault."""
        refused = BadReply("NOT_CAPABLE", got=got, wanted=wanted)
        self._port.refuse(refused)
        raise AgentFault(str(refused))
