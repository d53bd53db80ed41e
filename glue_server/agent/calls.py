"""The agent's routines, each called and waited for."""

from __future__ import annotations

import math
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from typing import NoReturn

from glue_server.agent.port import AgentPort
from glue_server.agent.time_budget import TimeBudget
from glue_server.processes.interrupts import check_stop, wait_or_stop
from glue_server.timeouts import Timeouts
from reglue.errors import AgentDisconnected, AgentFault, AgentTimeout, BadReply
from reglue.messages.agent import AgentHello, AgentInit, Call, Reply, RoutineDone, TextMessage
from reglue.spec import TaskSpec


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
        self._clock = clock
        self._stop = stop
        self._under_way: deque[tuple[Call, float]] = deque()  # and when each was sent
        self._free_since = -math.inf  # when the agent gave its last answer

    @property
    def hello(self) -> AgentHello:
        """What the agent said of itself."""
        return self._port.hello

    def init(self, spec: TaskSpec) -> None:
        """agent_init(spec). Raises AgentFault, too, if the agent cannot play that."""
        if not (spec.continuing or self.hello.episodic):
            self.give_up("an agent that takes no end of an episode", "one that does, for this task")
        self.call(AgentInit(spec))

    def filenos(self) -> Sequence[int]:
        """One is readable when an answer waits; none where it is there after `send`."""
        return self._port.filenos()

    def call(self, call: Call) -> Reply:
        """A routine other than a turn. Raises BadReply after telling the agent."""
        wanted = TextMessage if isinstance(call, TextMessage) else RoutineDone
        try:
            self.send(call)
            reply = self.receive()
            if not isinstance(reply, wanted):
                got = type(reply).__name__
                raise BadReply("WRONG_KIND", got=got, wanted=wanted.__name__)
        except BadReply as refused:
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
        try:
            return self._answer(self._budget.wait_s(call))
        finally:
            self._free_since = self._clock() - self._port.waited_s
            self._budget.spend(call, self._free_since - since)

    def _answer(self, timeout_s: float) -> Reply:
        if self._stop is None:
            return self._port.receive(timeout_s)
        until = time.monotonic() + timeout_s
        wait_or_stop(lambda: self._is_ready(until), self.filenos, self._stop)
        try:
            return self._port.receive(max(0.0, until - time.monotonic()))
        except AgentTimeout as late:
            check_stop(self._stop)
            raise AgentTimeout.after(timeout_s) from late
        except AgentFault:  # no fault of an agent that hears the same Ctrl-C
            check_stop(self._stop)
            raise

    def _is_ready(self, until: float) -> bool:
        """Whether an answer, or its beginning, is there, or its time is up."""
        return self._port.is_ready() or time.monotonic() >= until

    def refuse(self, refused: BadReply) -> None:
        """Tell the agent why its last answer was not taken."""
        self._port.refuse(refused)

    def give_up(self, got: str, wanted: str) -> NoReturn:
        """Tell the agent that it cannot play this, and raise AgentFault."""
        refused = BadReply("NOT_CAPABLE", got=got, wanted=wanted)
        self._port.refuse(refused)
        raise AgentFault(str(refused))
