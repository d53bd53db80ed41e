"""The agent's routines, each called and waited for."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import NoReturn

from glue_server.port import AgentPort
from glue_server.purse import Purse
from glue_server.timeouts import Timeouts
from reglue.calls import Call, Done, Hello, Init, Message, Reply, Turn
from reglue.errors import AgentFault, BadReply
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
        self._purse = Purse(timeouts, clock=clock)

    @property
    def hello(self) -> Hello:
        """What the agent said of itself."""
        return self._port.hello

    def init(self, spec: TaskSpec) -> None:
        """agent_init(spec). Raises AgentFault, too, if the agent cannot play that."""
        if not (spec.continuing or self.hello.episodic):
            self.give_up("an agent that takes no end of an episode", "one that does, for this task")
        self.call(Init(spec))

    def turn(self, turn: Turn) -> Reply:
        """The agent's answer to a turn, whatever it is. Raises BadReply."""
        return self._ask(turn)

    def call(self, call: Call) -> Reply:
        """A routine other than a turn. Raises BadReply after telling the agent."""
        wanted = Message if isinstance(call, Message) else Done
        try:
            reply = self._ask(call)
            if not isinstance(reply, wanted):
                got = type(reply).__name__
                raise BadReply("WRONG_KIND", got=got, wanted=wanted.__name__)
        except BadReply as refused:
            self._port.refuse(refused)
            raise
        return reply

    def _ask(self, call: Call) -> Reply:
        budget = self._purse.budget(call)
        with self._purse.spend(call):
            self._port.send(call, budget)
            return self._port.receive(self._purse.wait_s(call))

    def refuse(self, refused: BadReply) -> None:
        """Tell the agent why its last answer was not taken."""
        self._port.refuse(refused)

    def give_up(self, got: str, wanted: str) -> NoReturn:
        """Tell the agent that it cannot play this, and raise AgentFault."""
        refused = BadReply("NOT_CAPABLE", got=got, wanted=wanted)
        self._port.refuse(refused)
        raise AgentFault(str(refused))
