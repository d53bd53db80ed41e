"""The agent's half of a run: where it acts, and what it plays next there."""

from __future__ import annotations

from collections.abc import Collection, Mapping

import numpy as np

from glue_server.agent.actions import ActionChecks, given_up
from glue_server.agent.calls import AgentCalls
from glue_server.agent.turns import Rows, no_rows, turn_of
from glue_server.routines.rows import Places
from reglue.errors import AgentFault, BadReply, OutOfOrder
from reglue.messages.agent import ActionFlag, Actions, EndKind, Phase, Reply
from reglue.messages.environment import Slots
from reglue.spec import Array, TaskSpec


class SlotAgent:
    """A slot acts from its start to its end; `acts` says which do, (S,).

    Slots are named in ascending order: as many as there are, are all of them.
    """

    def __init__(self, calls: AgentCalls, spec: TaskSpec) -> None:
        self.acts = np.zeros(spec.slots, np.bool_)
        self.checks = ActionChecks(spec)
        self._calls = calls
        self._spec = spec
        self._none = no_rows(spec)
        self._actions = {tensor.name: tensor.empty(spec.slots) for tensor in spec.actions}
        self._flags = np.zeros(spec.slots, np.uint8)  # ActionFlag bits of those actions
        self._asked: Slots | None = None  # whom the answer is about that is under way

    def check_whole(self, routine: str, places: Places) -> None:
        """Raise OutOfOrder if a turn of `places` would leave out what this agent must see."""
        if len(places) == self._spec.slots or self._calls.hello.partial_turns:
            return
        left_out = self.acts.copy()
        left_out[places] = False
        if np.count_nonzero(left_out):
            raise OutOfOrder(
                got=f"{routine} without slots {left_out.nonzero()[0].tolist()}, "
                "in which the agent acts",
                wanted="all of them in one call: this agent takes whole turns",
            )

    def actions(self, places: Places) -> dict[str, Array]:
        """What they play next: name -> (rows, *shape), zeros where the agent does not act."""
        is_all = len(places) == self._spec.slots
        actions = {}
        for name, rows in self._actions.items():
            actions[name] = rows.copy() if is_all else rows[places]
        acts = self.acts[places]
        if 0 in acts.tobytes():
            for rows in actions.values():
                rows[~acts] = 0
        return actions

    def flags(self, places: Places) -> Array:
        """ActionFlag bits of the steps that those bring about, (rows,)."""
        return self._flags[places]

    def void(self, places: Places) -> Rows:
        """Ends of those that act, for an environment that failed."""
        acting = places[self.acts[places]]
        return Rows(
            acting.astype(np.uint32),
            np.full(len(acting), EndKind.VOID, np.uint8),
            {tensor.name: tensor.empty(len(acting)) for tensor in self._spec.observations},
            np.zeros(len(acting)),
        )

    def tell(
        self,
        phase: Phase,
        *,
        ends: Rows | None = None,
        steps: Rows | None = None,
        starts: Rows | None = None,
    ) -> None:
        """Ask what each slot of `steps` or `starts` plays next; `hear` comes next.

        Raises AgentFault when the agent is lost: nothing acts then.
        """
        asked = (steps or starts or self._none).slots
        self.acts[asked] = False
        if ends:
            self.acts[ends.slots] = False
        elif not len(asked):
            return
        turn = turn_of(self._spec, phase, ends=ends, steps=steps, starts=starts)
        try:
            self._calls.send(turn)
        except AgentFault:
            self.acts[:] = False
            raise
        self._asked = asked

    def hear(self) -> AgentFault | None:
        """Take the answer, if one is owed.

        Returns the fault of slots whose answer cannot be played: they do not act any
        more. Raises AgentFault when the agent is lost: nothing acts then.
        """
        asked, self._asked = self._asked, None
        if asked is None:
            return None
        try:
            return self._take(self._calls.receive(), asked)
        except BadReply as refused:
            self._calls.refuse(refused)
            return refused
        except AgentFault:
            self.acts[:] = False
            raise

    def _take(self, reply: Reply, asked: Slots) -> AgentFault | None:
        if not isinstance(reply, Actions):
            raise BadReply("WRONG_KIND", got=type(reply).__name__, wanted="Actions")
        abandon = given_up(reply.abandon, asked)
        checked = self.checks.check(reply.arrays, len(asked))
        at = _ALL if len(asked) == self._spec.slots else asked
        for name, rows in checked.arrays.items():
            self._actions[name][at] = rows
        self._flags[at] = 0
        if 1 in checked.clipped.tobytes():
            self._flags[asked[checked.clipped]] = ActionFlag.CLIPPED
        self.acts[at] = True
        if abandon or checked.refused:
            return self._part(asked, checked.refused, abandon)
        return None

    def _part(
        self, asked: Slots, refused: Mapping[int, BadReply], abandon: Collection[int]
    ) -> AgentFault | None:
        """The agent does not act any more where it gave up, or did what is not legal."""
        slots = asked.tolist()
        left = [slot for slot in slots if slot in abandon]
        self.acts[[*left, *(slots[place] for place in refused)]] = False
        for place, why in refused.items():
            got = f"{why.got} in slot {slots[place]}"
            raise BadReply(why.code, got=got, wanted=why.wanted)  # one says enough
        if left:
            return AgentFault(f"the agent gave up its episode in slots {left}")
        return None


_ALL = slice(None)
