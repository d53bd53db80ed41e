"""The agent's half of a run: where it acts, and what it plays next there."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from glue_server.agent_calls import AgentCalls
from glue_server.checks import check_actions
from glue_server.played import ActionRows
from glue_server.turns import Row, build_turn
from reglue.calls import Actions, EndKind, Phase, Reply, StepFlag
from reglue.errors import AgentFault, BadReply, OutOfOrder
from reglue.spec import Array, TaskSpec


@dataclass(frozen=True, slots=True)
class Upcoming:
    """The action that a slot plays next, and whether it lies out of its bounds."""

    action: bytes
    clipped: bool

    @property
    def flags(self) -> int:
        """StepFlag bits of the step that it brings about."""
        return int(StepFlag.CLIPPED) if self.clipped else 0


class AgentHalf:
    """A slot acts from its start to its end; `upcoming` holds those that do."""

    def __init__(self, calls: AgentCalls, spec: TaskSpec) -> None:
        self.upcoming: dict[int, Upcoming] = {}
        self._calls = calls
        self._spec = spec
        self._rows = ActionRows(spec)
        self._zeros = bytes(sum(tensor.row_bytes for tensor in spec.actions))

    def check_whole(self, routine: str, slots: Iterable[int]) -> None:
        """Raise OutOfOrder if a turn of `slots` would leave out what this agent must see."""
        left_out = sorted(self.upcoming.keys() - set(slots))
        if left_out and not self._calls.hello.partial_turns:
            raise OutOfOrder(
                got=f"{routine} without slots {left_out}, in which the agent acts",
                wanted="all of them in one call: this agent takes whole turns",
            )

    def actions(self, slots: Iterable[int]) -> dict[str, Array]:
        """What `slots` play next: name -> (rows, *shape), zeros where the agent does not act."""
        upcoming = [self.upcoming.get(slot) for slot in slots]
        rows = self._rows.read([each.action if each else self._zeros for each in upcoming])
        return {name: values.copy() for name, values in rows.items()}  # to be written to

    def void(self, slots: Iterable[int]) -> list[Row]:
        """Ends of those of `slots` that act, for an environment that failed."""
        zeros = {tensor.name: tensor.empty(1)[0] for tensor in self._spec.observations}
        return [Row(slot, zeros, int(EndKind.VOID)) for slot in slots if slot in self.upcoming]

    def turn(
        self,
        phase: Phase,
        *,
        ends: Sequence[Row] = (),
        steps: Sequence[Row] = (),
        starts: Sequence[Row] = (),
    ) -> AgentFault | None:
        """One exchange: what each slot of `steps` and `starts` plays next.

        Returns the fault of slots whose answer cannot be played: they do not act any
        more. Raises AgentFault when the agent is lost: nothing acts then.
        """
        if not (ends or steps or starts):
            return None
        asked = [row.slot for row in (*steps, *starts)]
        for row in (*ends, *steps, *starts):
            self.upcoming.pop(row.slot, None)
        turn = build_turn(self._spec, phase, ends=ends, steps=steps, starts=starts)
        try:
            return self._take(self._calls.turn(turn), asked)
        except BadReply as refused:
            self._calls.refuse(refused)
            return refused
        except AgentFault:
            self.upcoming.clear()
            raise

    def _take(self, reply: Reply, asked: Sequence[int]) -> AgentFault | None:
        if not isinstance(reply, Actions):
            raise BadReply("WRONG_KIND", got=type(reply).__name__, wanted="Actions")
        checked = check_actions(self._spec, reply.arrays, len(asked))
        given_up = [slot for slot in asked if slot in reply.abandon]
        for place, slot in enumerate(asked):
            if place not in checked.refused and slot not in given_up:
                clipped = bool(checked.clipped[place])
                self.upcoming[slot] = Upcoming(checked.rows[place], clipped)
        for place, refused in checked.refused.items():
            got = f"{refused.got} in slot {asked[place]}"
            raise BadReply(refused.code, got=got, wanted=refused.wanted)  # one says enough
        if given_up:
            return AgentFault(f"the agent gave up its episode in slots {given_up}")
        return None
