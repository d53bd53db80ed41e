"""The agent's routines, each called and waited for, and turns over slots.

In a turn what slots saw goes out, and what they play next comes back.
"""

from __future__ import annotations

import math
import time
from collections import deque
from collections.abc import Callable, Collection, Sequence
from typing import NoReturn

import numpy as np

from glue_server.agent.actions import (
    NOBODY,
    ActionChecks,
    Answer,
    given_up,
    held,
    partial_answer,
)
from glue_server.agent.agent_port import AgentPort
from glue_server.agent.capability import incapability
from glue_server.agent.time_budget import TimeBudget
from glue_server.agent.turn_rows import Rows, turn_of
from glue_server.processes.event_loop import sleep
from glue_server.processes.interrupts import check_stop
from glue_server.timeouts import Timeouts
from reglue.action_masks import Allowed
from reglue.errors import (
    AgentDisconnected,
    AgentFault,
    AgentTimeout,
    BadAgentReply,
    BadReply,
)
from reglue.messages.agent_messages import (
    Actions,
    AgentHello,
    AgentInit,
    Call,
    Phase,
    Reply,
    RoutineDone,
    TextMessage,
    Turn,
)
from reglue.messages.environment_messages import Slots
from reglue.spec import TaskSpec

MOST_OWED = 8
"""Late answers that an agent may owe before it is lost, if default actions are played: as many
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
    ) -> None:
        self._port = port
        self._budget = TimeBudget(timeouts)
        self._plays_defaults = timeouts.plays_defaults
        self.turn_every_s = timeouts.turn_every_s  # 0: turns are sent at once
        self._clock = clock
        self._under_way: deque[tuple[Call, float]] = deque()  # and when each was sent
        self._free_since = -math.inf  # when the agent gave its last answer
        self._absence_s = 0.0  # by which absences may still lengthen calls in this run
        self._away_s = 0.0  # of the port's, by when the time of a call was last lengthened

    @property
    def hello(self) -> AgentHello:
        """The agent's description of itself."""
        return self._port.hello

    def init(self, spec: TaskSpec) -> None:
        """agent_init(spec). Raises AgentFault, too, if the agent cannot play that."""
        self.check(spec)
        self._absence_s = self._port.reconnect_window_s + _LOOK_S
        self.call(AgentInit(spec))

    def filenos(self) -> Sequence[int]:
        """One is readable when an answer waits; none if it is there after `send`."""
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
        check_stop()
        budget = self._budget.budget(call)
        since = self._clock()
        try:
            self._port.send(call, budget)
        except AgentDisconnected:
            while self._under_way:  # what it said before it left says more
                self.receive()
            check_stop()
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
            while (reply := self._receive_reply(timeout_s)) is None:
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
        sleep(self.turn_every_s - (self._clock() - self._free_since) % self.turn_every_s)

    def receive_turn(self) -> Reply | None:
        """The answer to the oldest call, a turn; None if it is late and a default is played.

        Raises AgentTimeout, too, if the agent is MOST_OWED answers behind.
        """
        try:
            return self.receive()
        except AgentTimeout as late:
            if not self._plays_defaults:
                raise
            if self._port.owed >= MOST_OWED:
                raise AgentTimeout(
                    f"the agent is {self._port.owed} answers behind; {late}"
                ) from late
        while self._port.is_away:  # one default is played, however long it is away
            sleep(_LOOK_S)
        return None

    def note_held(self, asked: Slots, held: Collection[int]) -> None:
        """Note the slots of the last turn answered that the agent holds: their time goes on."""
        self._budget.note_held(asked, held)

    def charge(self, seconds: float) -> None:
        """Take time from the run's that the agent's actions cost: they made environments fail."""
        self._budget.charge(seconds)

    def _receive_reply(self, timeout_s: float) -> Reply | None:
        try:
            return self._port.receive(timeout_s, self._more_s)
        except AgentFault:  # no fault of an agent that hears the same Ctrl-C
            check_stop()
            raise

    def _more_s(self) -> float:
        """Extra seconds after the time is up: those in which the agent's connection was broken.

        In a run that is at most one reconnect window in all: else an agent that breaks its
        connection gains time. If a default action can be played, it is played.
        """
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


class SlotAgent:
    """Asks an agent turn by turn. Several turns may be under way, about different slots.

    All raise AgentFault when the agent is lost.
    """

    def __init__(self, calls: AgentCalls, spec: TaskSpec, *, clips: bool) -> None:
        """`clips`: see ActionChecks."""
        self.calls = calls
        self.checks = ActionChecks(spec, clips=clips)
        self._spec = spec
        self._asked: deque[tuple[Slots, Allowed | None]] = deque()
        """The slots of each answer that is still to come, and what their masks allow."""

    def send(
        self,
        phase: Phase,
        *,
        ends: Rows | None = None,
        steps: Rows | None = None,
        starts: Rows | None = None,
    ) -> bool:
        """Ask what each slot of `steps` and `starts` plays next; `receive` waits for the answer.

        Returns whether there was anything to say, and so an answer is to come.
        """
        if not (ends or steps or starts):
            return False
        self.ask(turn_of(self._spec, phase, ends=ends, steps=steps, starts=starts))
        return True

    def ask(self, turn: Turn) -> None:
        """Send a turn as it is; `receive` waits for the answer."""
        allowed = self.checks.allowed(turn)  # now: an agent in this process may write to the rows
        self.calls.send(turn)
        steps, starts = turn.steps.slots, turn.starts.slots
        if len(steps) and len(starts):
            asked = np.concatenate([steps, starts])
        else:
            asked = steps if len(steps) else starts
        self._asked.append((asked, allowed))

    def receive(self, *, may_hold: bool = True) -> Answer:
        """The answer to the oldest turn, or, if it is late and that is allowed, default actions.

        The agent is told if it does not fit, or a row of it.
        """
        (asked, allowed), waiting = self._asked.popleft(), NOBODY
        try:
            reply = self.calls.receive_turn()
            if reply is None:
                return Answer(asked, self.checks.default(len(asked), allowed))
            if not isinstance(reply, Actions):
                raise BadReply("WRONG_KIND", got=type(reply).__name__, wanted="Actions")
            abandoned = NOBODY
            if reply.abandon or reply.held:
                abandoned = given_up(reply.abandon, asked)
                waiting = held(reply.held, asked, abandoned)
                if waiting and not may_hold:
                    wanted = "actions: a program, or an environment of whole turns, steps all"
                    got = "held slots"
                    raise BadReply("OUT_OF_DOMAIN", got=got, wanted=wanted)
            checked = self.checks.check(reply.arrays, len(asked), allowed)
        except BadReply as bad:
            refused = BadAgentReply.of(bad)
            self.calls.refuse(refused)
            return Answer(asked, None, dict.fromkeys(asked.tolist(), refused), refused)
        finally:
            self.calls.note_held(asked, waiting)
        if not (abandoned or waiting or checked.refused):
            return Answer(asked, checked)
        answer = partial_answer(asked, checked, abandoned, waiting)
        if answer.refused is not None:
            self.calls.refuse(answer.refused)
        return answer
