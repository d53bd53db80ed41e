"""Turns with an agent: what slots saw goes out, what they play next comes back."""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Mapping, Sequence
from dataclasses import field

import numpy as np
import numpy.typing as npt

from glue_server.agent.actions import NOBODY, ActionChecks, Checked, given_up, held
from glue_server.agent.calls import AgentCalls
from reglue.errors import AgentAbandoned, AgentFault, BadAgentReply, BadReply
from reglue.messages.agent import (
    NO_ENDS,
    NO_STARTS,
    NO_STEPS,
    Actions,
    EndKind,
    Ends,
    Phase,
    Starts,
    Steps,
    Turn,
)
from reglue.messages.environment import Played, Slots
from reglue.messages.value import value
from reglue.spec import Array, Arrays, TaskSpec


@value
class Answer:
    """An agent's answer to a turn: an action for each slot but those of `faults` and `held`."""

    slots: Slots  # that wanted an action, ascending within steps and within starts, (n,)
    checked: Checked | None  # their actions, (n, …); None where no row can be played
    faults: Mapping[int, AgentFault] = field(default_factory=dict)  # by slot
    refused: BadAgentReply | None = None  # what the agent was told of its answer
    held: frozenset[int] = NOBODY  # slots to tell the same again


class SlotAgent:
    """Asks an agent turn by turn. Several turns may be under way, about different slots.

    All raise AgentFault when the agent is lost.
    """

    def __init__(self, calls: AgentCalls, spec: TaskSpec, *, clips: bool) -> None:
        """`clips`: see ActionChecks."""
        self.calls = calls
        self.checks = ActionChecks(spec, clips=clips)
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

    def hear(self, *, may_hold: bool = True) -> Answer:
        """The answer to the oldest turn, or where it is late and that is allowed default actions.

        The agent is told if it does not fit, or a row of it.
        """
        asked = self._asked.popleft()
        try:
            reply = self.calls.answer()
            if reply is None:
                return Answer(asked, self.checks.default(len(asked)))
            if not isinstance(reply, Actions):
                raise BadReply("WRONG_KIND", got=type(reply).__name__, wanted="Actions")
            abandoned = waiting = NOBODY
            if reply.abandon or reply.held:
                abandoned = given_up(reply.abandon, asked)
                waiting = held(reply.held, asked, abandoned)
                if waiting and not may_hold:
                    got, wanted = "held slots", "actions: a program calls the routines of this run"
                    raise BadReply("OUT_OF_DOMAIN", got=got, wanted=wanted)
            checked = self.checks.check(reply.arrays, len(asked))
        except BadReply as bad:
            refused = BadAgentReply.of(bad)
            self.calls.refuse(refused)
            return Answer(asked, None, dict.fromkeys(asked.tolist(), refused), refused)
        if abandoned or waiting or checked.refused:
            return self._partial(asked, checked, abandoned, waiting)
        return Answer(asked, checked)

    def _partial(
        self, asked: Slots, checked: Checked, abandoned: Collection[int], held: frozenset[int]
    ) -> Answer:
        """An answer of which some rows are not played. One refusal says enough."""
        faults: dict[int, AgentFault] = {}
        told: BadAgentReply | None = None
        for row, slot in enumerate(asked.tolist()):
            refused = checked.refused.get(row)
            if slot in abandoned:
                faults[slot] = AgentAbandoned("the agent gave it up")
            elif refused is not None and slot not in held:
                faults[slot] = BadAgentReply.of(refused)
                got = f"{refused.got} in slot {slot}"
                told = told or BadAgentReply(refused.code, got=got, wanted=refused.wanted)
        if told is not None:
            self.calls.refuse(told)
        return Answer(asked, checked, faults, told, held)


@value
class Rows:
    """One part of a turn: its ends, its steps or its starts."""

    slots: Slots  # (n,)
    marks: Array  # (n,): EndKind or ActionFlag bits, uint8, or seeds of starts, uint64
    observations: Arrays  # name -> (n, *shape), in the spec's order
    rewards: npt.NDArray[np.float64]  # (n,), of starts not looked at

    def __len__(self) -> int:
        return len(self.slots)

    def read_only(self) -> Rows:
        """Views that nobody can write to, for rows that belong to somebody else."""
        return Rows(
            self.slots,
            self.marks,
            {name: _read_only(rows) for name, rows in self.observations.items()},
            _read_only(self.rewards),
        )

    def take(self, places: Array) -> Rows:
        """Those rows, by index or mask."""
        return Rows(
            self.slots[places],
            self.marks[places],
            {name: rows[places] for name, rows in self.observations.items()},
            self.rewards[places],
        )

    def only(self, slots: Collection[int]) -> Rows:
        """The rows of those slots."""
        return self.take(np.isin(self.slots, list(slots)))

    def merged(self, others: Rows) -> Rows:
        """Both, by slot; the slots differ."""
        if not (self and others):
            return self or others
        slots = np.concatenate([self.slots, others.slots])
        return Rows(
            slots,
            np.concatenate([self.marks, others.marks]),
            {
                name: np.concatenate([rows, others.observations[name]])
                for name, rows in self.observations.items()
            },
            np.concatenate([self.rewards, others.rewards]),
        ).take(slots.argsort())


def _read_only(rows: Array) -> Array:
    view = rows.view()
    view.setflags(write=False)
    return view


def no_rows(spec: TaskSpec) -> Rows:
    """None at all."""
    nothing = np.zeros(0, np.uint32)
    observations = {tensor.name: tensor.empty(0) for tensor in spec.observations}
    return Rows(nothing, nothing, observations, np.zeros(0))


def turn_of(
    spec: TaskSpec,
    phase: Phase,
    *,
    ends: Rows | None = None,
    steps: Rows | None = None,
    starts: Rows | None = None,
) -> Turn:
    """Ends, then steps, then starts. Rewards that the spec withholds are NaN.

    A turn of one part has the arrays of its rows, as nearly all have; of several, copies.
    """
    told = [*filter(None, (ends, steps, starts))] or [no_rows(spec)]
    seen, rewards = told[0].observations, told[0].rewards
    if len(told) > 1:
        seen, rewards = _joined(spec, told)
    if starts:
        rewards = rewards[: -len(starts)]
    if phase is Phase.EVALUATE and not spec.rewards_in_evaluation:
        rewards = np.full(len(rewards), np.nan)
    return Turn(
        phase,
        Ends(ends.slots, ends.marks) if ends else NO_ENDS,
        Steps(steps.slots, steps.marks) if steps else NO_STEPS,
        Starts(starts.slots, starts.marks) if starts else NO_STARTS,
        rewards,
        seen,
    )


def _joined(spec: TaskSpec, told: Sequence[Rows]) -> tuple[dict[str, Array], Array]:
    """Observations and rewards of several parts."""
    seen = {
        tensor.name: np.concatenate([rows.observations[tensor.name] for rows in told])
        for tensor in spec.observations
    }
    return seen, np.concatenate([rows.rewards for rows in told])


def ends_and_steps(
    slots: Slots, flags: Array, played: Played, void: npt.NDArray[np.bool_] | None
) -> tuple[Rows | None, Rows]:
    """Of a Play of steps alone: which episodes are over, and which go on.

    `flags` are ActionFlag bits; where `void`, (rows,), the environment has failed.
    """
    rows = Rows(slots, flags, played.observations, played.rewards)
    over = played.terminated | played.truncated
    if void is not None:
        over |= void
    if 1 not in over.tobytes():
        return None, rows
    kinds = np.where(played.terminated, EndKind.TERMINATED, EndKind.TRUNCATED).astype(np.uint8)
    ends = Rows(slots, kinds, played.observations, played.rewards).take(over)
    if void is not None:
        _show_nothing(ends, void[over])
    return ends, rows.take(~over)


def _show_nothing(ends: Rows, void: npt.NDArray[np.bool_]) -> None:
    ends.marks[void] = EndKind.VOID
    ends.rewards[void] = 0.0
    for values in ends.observations.values():
        values[void] = 0


_NO_ROWS = Rows(np.zeros(0, np.uint32), np.zeros(0, np.uint8), {}, np.zeros(0))
