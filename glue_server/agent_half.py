"""The agent's half of a run: where it acts, and what it plays next there."""

from __future__ import annotations

from collections.abc import Collection, Mapping

import numpy as np

from glue_server.agent_calls import AgentCalls
from glue_server.checks import ActionChecks
from glue_server.rows import Places
from glue_server.turns import Rows, no_rows, turn_of
from reglue.calls import Actions, EndKind, Phase, Reply, StepFlag
from reglue.errors import AgentFault, BadReply, OutOfOrder
from reglue.spec import Array, TaskSpec


class AgentHalf:
    """A slot acts from its start to its end; `acts` says which do, (S,)."""

    def __init__(self, calls: AgentCalls, spec: TaskSpec) -> None:
        self.acts = np.zeros(spec.slots, np.bool_)
        self.checks = ActionChecks(spec)
        self._calls = calls
        self._spec = spec
        self._none = no_rows(spec)
        self._actions = {tensor.name: tensor.empty(spec.slots) for tensor in spec.actions}
        self._flags = np.zeros(spec.slots, np.uint8)  # StepFlag bits of those actions

    def check_whole(self, routine: str, places: Places) -> None:
        """Raise OutOfOrder if a turn of `places` would leave out what this agent must see."""
        if self._calls.hello.partial_turns:
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
        actions = {name: rows[places] for name, rows in self._actions.items()}
        acts = self.acts[places]
        if np.count_nonzero(acts) < len(places):
            for rows in actions.values():
                rows[~acts] = 0
        return actions

    def flags(self, places: Places) -> Array:
        """StepFlag bits of the steps that those bring about, (rows,)."""
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

    def turn(
        self,
        phase: Phase,
        *,
        ends: Rows | None = None,
        steps: Rows | None = None,
        starts: Rows | None = None,
    ) -> AgentFault | None:
        """One exchange: what each slot of `steps` or `starts` plays next.

        Returns the fault of slots whose answer cannot be played: they do not act any
        more. Raises AgentFault when the agent is lost: nothing acts then.
        """
        if not (ends or steps or starts):
            return None
        ends, steps, starts = ends or self._none, steps or self._none, starts or self._none
        asked = (steps or starts).slots.astype(np.intp)
        self.acts[asked] = False
        if ends:
            self.acts[ends.slots] = False
        turn = turn_of(self._spec, phase, ends=ends, steps=steps, starts=starts)
        try:
            return self._take(self._calls.turn(turn), asked)
        except BadReply as refused:
            self._calls.refuse(refused)
            return refused
        except AgentFault:
            self.acts[:] = False
            raise

    def _take(self, reply: Reply, asked: Places) -> AgentFault | None:
        if not isinstance(reply, Actions):
            raise BadReply("WRONG_KIND", got=type(reply).__name__, wanted="Actions")
        checked = self.checks.check(reply.arrays, len(asked))
        for name, rows in checked.arrays.items():
            self._actions[name][asked] = rows
        self._flags[asked] = checked.clipped.view(np.uint8) * _CLIPPED
        self.acts[asked] = True
        if reply.abandon or checked.refused:
            return self._part(asked, checked.refused, set(reply.abandon))
        return None

    def _part(
        self, asked: Places, refused: Mapping[int, BadReply], abandon: Collection[int]
    ) -> AgentFault | None:
        """The agent does not act any more where it gave up, or did what is not legal."""
        slots = asked.tolist()
        given_up = [slot for slot in slots if slot in abandon]
        self.acts[[*given_up, *(slots[place] for place in refused)]] = False
        for place, why in refused.items():
            got = f"{why.got} in slot {slots[place]}"
            raise BadReply(why.code, got=got, wanted=why.wanted)  # one says enough
        if given_up:
            return AgentFault(f"the agent gave up its episode in slots {given_up}")
        return None


_CLIPPED = np.uint8(StepFlag.CLIPPED)
