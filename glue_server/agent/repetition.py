"""Asks a frozen agent its first turns again.

It answers alike if its actions follow from what it receives: start seeds, observations and rewards.
An agent that draws other random numbers, or keeps something from earlier episodes, does not. The
turns are the same row by row, so that a network computes the same batches, and no environment is
needed.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from glue_server.agent.actions import Answer, unpacked
from glue_server.agent.agent_calls import AgentCalls, Rows, SlotAgent, turn_of
from glue_server.agent.agent_port import AgentPort
from glue_server.timeouts import Timeouts
from reglue.errors import brief
from reglue.messages.agent_messages import Freeze, Phase, Turn
from reglue.messages.environment_messages import Slots
from reglue.spec import TaskSpec

_MOST_TURNS = 50  # that are kept
_MOST_BYTES = 4 * 2**20  # of their observations; the first turn is kept in any case
_LEAST_ROWS = 20  # that are asked again
_SHARE = 100  # one turn of so many is asked again


@dataclass(frozen=True, slots=True)
class Repetition:
    """What came of asking an agent again."""

    rows: int = 0  # observations that it was shown again
    difference: str = ""  # its first other action; empty: it chose the same
    fault: str = ""  # why it was not asked all of them


@dataclass(frozen=True, slots=True)
class RecordedTurns:
    """The first turns of a frozen agent, and what it answered."""

    spec: TaskSpec  # as the agent received it
    clips: bool  # see ActionChecks
    turns: Sequence[tuple[Turn, bytes]]  # with its actions, packed


@dataclass(slots=True)
class _Turn:
    """A turn as the agent received it, and its answer."""

    phase: Phase
    ends: Rows | None
    steps: Rows | None
    starts: Rows | None
    actions: bytes = b""  # packed

    @property
    def nbytes(self) -> int:
        """Of observations."""
        parts = filter(None, (self.ends, self.steps, self.starts))
        return sum(rows.nbytes for part in parts for rows in part.observations.values())


class RepeatableAgent(SlotAgent):
    """Keeps the first turns, up to the first answer that lacks an action."""

    def __init__(self, calls: AgentCalls, spec: TaskSpec, *, clips: bool) -> None:
        """As SlotAgent."""
        super().__init__(calls, spec, clips=clips)
        self._turns: list[_Turn] = []
        self._keeps = calls.turn_every_s == 0
        self._bytes = 0
        self._told = self._heard = 0  # turns

    def send(
        self,
        phase: Phase,
        *,
        ends: Rows | None = None,
        steps: Rows | None = None,
        starts: Rows | None = None,
    ) -> bool:
        """As SlotAgent does."""
        if self._keeps and (ends or steps or starts):
            self._keep(_Turn(phase, _copy(ends), _copy(steps), _copy(starts)))
        asks = super().send(phase, ends=ends, steps=steps, starts=starts)
        self._told += asks
        return asks

    def receive(self, *, may_hold: bool = True) -> Answer:
        """As SlotAgent does."""
        answer = super().receive(may_hold=may_hold)
        if self._heard < len(self._turns):
            actions = _actions(answer)
            if actions is None:
                del self._turns[self._heard :]
                self._keeps = False
            else:
                self._turns[self._heard].actions = actions
        self._heard += 1
        return answer

    @property
    def recorded(self) -> RecordedTurns:
        """The turns that were kept and answered."""
        spec = self._spec
        told = [
            turn_of(spec, each.phase, ends=each.ends, steps=each.steps, starts=each.starts)
            for each in self._turns[: self._heard]
        ]
        answers = [each.actions for each in self._turns]
        pairs = zip(told, answers, strict=False)
        return RecordedTurns(spec, self.checks.clips, list(pairs))

    def ask_again(self, *, least_rows: float = _LEAST_ROWS) -> Repetition | None:
        """Ask again what was kept, or as much as takes little of the agent's time.

        None: nothing was kept. Raises AgentFault if the agent is lost.
        """
        rows = 0
        for number, turn in enumerate(self._turns):
            if rows >= least_rows and number >= self._told // _SHARE:
                break
            super().send(turn.phase, ends=turn.ends, steps=turn.steps, starts=turn.starts)
            answer = super().receive()
            if (actions := _actions(answer)) is None:
                return Repetition(rows, fault="it did not choose an action for each slot")
            if actions != turn.actions:
                where = self.difference(answer.slots, actions, turn.actions)
                return Repetition(rows, difference=f"turn {number + 1}, {where}")
            rows += len(answer.slots)
        return Repetition(rows) if rows else None

    def _keep(self, turn: _Turn) -> None:
        self._bytes += turn.nbytes
        if self._turns and self._bytes > _MOST_BYTES:
            self._keeps = False
        else:
            self._turns.append(turn)
            self._keeps = len(self._turns) < _MOST_TURNS

    def difference(self, slots: Slots, actions: bytes, earlier: bytes) -> str:
        """The first row that differs."""
        tensors = self.checks.spec.actions
        got, wanted = unpacked(actions, tensors), unpacked(earlier, tensors)
        for row, slot in enumerate(slots.tolist()):
            for name in got:
                if got[name][row].tobytes() != wanted[name][row].tobytes():
                    before, now = brief(wanted[name][row].tolist()), brief(got[name][row].tolist())
                    return f"slot {slot}: {name} was {before}, then {now}"
        raise AssertionError("there is a difference")


def answer_recorded(port: AgentPort, recorded: RecordedTurns) -> tuple[str, bool]:
    """Ask a naive, frozen agent the turns that another one answered.

    Returns its first other action, empty if it chose the same, and whether it answers itself alike.
    Raises AgentFault.
    """
    calls = AgentCalls(port, Timeouts())
    calls.init(recorded.spec)
    calls.call(Freeze())
    agent = RepeatableAgent(calls, recorded.spec, clips=recorded.clips)
    first = ""
    for number, (turn, before) in enumerate(recorded.turns, start=1):
        ends, steps, starts = _parts_of(turn)
        agent.send(turn.phase, ends=ends, steps=steps, starts=starts)
        answer = agent.receive()
        if (actions := _actions(answer)) is None:
            return f"turn {number}: it did not choose an action for each slot", True
        if actions != before and not first:
            first = f"turn {number}, {agent.difference(answer.slots, actions, before)}"
    again = agent.ask_again(least_rows=math.inf) if first else None
    return first, again is None or not (again.difference or again.fault)


def _parts_of(turn: Turn) -> tuple[Rows | None, Rows | None, Rows | None]:
    """Its ends, steps and starts."""
    parts, first = list[Rows | None](), 0
    kinds = ((turn.ends, "kinds"), (turn.steps, "flags"), (turn.starts, "seeds"))
    for part, marks in kinds:
        last = first + len(part)
        seen = {name: rows[first:last] for name, rows in turn.observations.items()}
        rewards = turn.rewards[first:last] if part is not turn.starts else np.zeros(len(part))
        rows = Rows(part.slots, getattr(part, marks), seen, rewards)
        parts.append(rows if len(part) else None)
        first = last
    ends, steps, starts = parts
    return ends, steps, starts


def _actions(answer: Answer) -> bytes | None:
    """All of an answer, packed; None if a slot has none."""
    checked = answer.checked
    if checked is None or checked.defaulted or answer.faults or answer.held:
        return None
    return checked.packed.tobytes()


def _copy(rows: Rows | None) -> Rows | None:
    """Rows that the agent, or the environment's next step, cannot change."""
    return rows.take(np.arange(len(rows))) if rows else None
