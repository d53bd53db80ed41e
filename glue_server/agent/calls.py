"""The agent's routines, each called and waited for."""

from __future__ import annotations

import math
import time
from collections import deque
from collections.abc import Callable
from typing import NoReturn

from glue_server.agent.port import AgentPort
from glue_server.agent.time_budget import TimeBudget
from glue_server.timeouts import Timeouts
from reglue.errors import AgentDisconnected, AgentFault, BadReply
from reglue.messages.agent import Call, Done, Hello, Init, Message, Reply, Turn
from reglue.spec import TaskSpec


class AgentCalls:
    """Calls an agent through its port. All raise AgentFault when the agent is lost."""

    def __init__(
        self,
        port: AgentPort,
        timeouts: Timeouts,
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._port = port
        self._purse = TimeBudget(timeouts)
        self._clock = clock
        self._under_way: deque[tuple[Call, float]] = deque()  # and when each was sent
        self._free_since = -math.inf  # when the agent gave its last answer

    @property
    def hello(self) -> Hello:
        """What the agent said of itself."""
        return self._port.hello

    def init(self, spec: TaskSpec) -> None:
        """agent_init(spec). Raises AgentFault, too, if the agent cannot play that."""
        if not (spec.continuing or self.hello.episodic):
            self.give_up("an agent that takes no end of an episode", "one that does, for this task")
        self.call(Init(spec))

    def fileno(self) -> int | None:
        """Readable when an answer waits; None where it is there once `send` has returned."""
        return self._port.fileno()

    def turn(self, turn: Turn) -> Reply:
        """The agent's answer to a turn, whatever it is. Raises BadReply."""
        self.send(turn)
        return self.receive()

    def call(self, call: Call) -> Reply:
        """A routine other than a turn. Raises BadReply after telling the agent."""
        wanted = Message if isinstance(call, Message) else Done
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
        budget = self._purse.budget(call)
        since = self._clock()
        try:
            self._port.send(call, budget)
        except AgentDisconnected:
            while self._under_way:  # what it said before it left tells more
                self.receive()
            raise
        self._under_way.append((call, since))

    def receive(self) -> Reply:
        """The answer to the oldest call. The agent's time begins when it can begin."""
        call, since = self._under_way.popleft()
        since = max(since, self._free_since)
        try:
            return self._port.receive(self._purse.wait_s(call))
        finally:
            self._free_since = self._clock() - self._port.waited_s
            self._purse.spend(call, self._free_since - since)

    def refuse(self, refused: BadReply) -> None:
        """Tell the agent why its last answer was not taken."""
        self._port.refuse(refused)

    def give_up(self, got: str, wanted: str) -> NoReturn:
        """Tell the agent that it cannot play this, and raise AgentFault."""
        refused = BadReply("NOT_CAPABLE", got=got, wanted=wanted)
        self._port.refuse(refused)
        raise AgentFault(str(refused))
