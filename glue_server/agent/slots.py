"""Turns with an agent: what slots saw goes out, what they play next comes back."""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Mapping
from dataclasses import field

import numpy as np

from glue_server.agent.actions import ActionChecks, Checked, given_up
from glue_server.agent.calls import AgentCalls
from glue_server.agent.turns import Rows, turn_of
from reglue.errors import AgentAbandoned, AgentFault, BadReply
from reglue.messages.agent import Actions, Phase
from reglue.messages.environment import Slots
from reglue.messages.value import value
from reglue.spec import TaskSpec


@value
class Answer:
    """What the agent answered to a turn: an action for each slot but those in `faults`."""

    slots: Slots  # that wanted an action, ascending within steps and within starts, (n,)
    checked: Checked | None  # their actions, (n, …); None where no row can be played
    faults: Mapping[int, AgentFault] = field(default_factory=dict)  # by slot
    refused: BadReply | None = None  # what the agent was told of its answer


class SlotAgent:
    """Asks an agent turn by turn. Several turns may be under way, about different slots.

    All raise AgentFault when the agent is lost.
    """

    def __init__(self, calls: AgentCalls, spec: TaskSpec) -> None:
        self.calls = calls
        self.checks = ActionChecks(spec)
        self._spec = spec
        self._asked: deque[Slots] = deque()  # whom the answers under way are about

    def tell(
        self,
        phase: Phase,
        *,
        ends: Rows | None = None,
        steps: Rows | None = None,
        starts: Rows | None = None,
    ) -> bool:
        """Ask what each slot of `steps` and `starts` plays next; `hear` returns the answer.

        Returns whether there was anything to say, and so an answer is to come.
        """
        if not (ends or steps or starts):
            return False
        self.calls.send(turn_of(self._spec, phase, ends=ends, steps=steps, starts=starts))
        if steps and starts:
            self._asked.append(np.concatenate([steps.slots, starts.slots]))
        else:
            self._asked.append((steps or starts or _NO_ROWS).slots)
        return True

    def hear(self) -> Answer:
        """The answer to the oldest turn. The agent is told if it does not fit, or a row of it."""
        asked = self._asked.popleft()
        try:
            reply = self.calls.receive()
            if not isinstance(reply, Actions):
                raise BadReply("WRONG_KIND", got=type(reply).__name__, wanted="Actions")
            abandoned = given_up(reply.abandon, asked)
            checked = self.checks.check(reply.arrays, len(asked))
        except BadReply as refused:
            self.calls.refuse(refused)
            return Answer(asked, None, dict.fromkeys(asked.tolist(), refused), refused)
        if abandoned or checked.refused:
            return self._partial(asked, checked, abandoned)
        return Answer(asked, checked)

    def _partial(self, asked: Slots, checked: Checked, abandoned: Collection[int]) -> Answer:
        """An answer of which some rows are not played. One refusal says enough."""
        faults: dict[int, AgentFault] = {}
        told: BadReply | None = None
        for row, slot in enumerate(asked.tolist()):
            refused = checked.refused.get(row)
            if slot in abandoned:
                faults[slot] = AgentAbandoned("the agent gave it up")
            elif refused is not None:
                faults[slot] = refused
                got = f"{refused.got} in slot {slot}"
                told = told or BadReply(refused.code, got=got, wanted=refused.wanted)
        if told is not None:
            self.calls.refuse(told)
        return Answer(asked, checked, faults, told)


_NO_ROWS = Rows(np.zeros(0, np.uint32), np.zeros(0, np.uint8), {}, np.zeros(0))
