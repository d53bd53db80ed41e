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

from glue_server.agent.actions import Answer, unpacked
from glue_server.agent.agent_calls import AgentCalls, SlotAgent
from glue_server.agent.agent_port import AgentPort
from glue_server.timeouts import Timeouts
from reglue.error_message import brief
from reglue.messages.agent_messages import Ends, Freeze, Starts, Steps, Turn
from reglue.messages.environment_messages import Slots
from reglue.spec import TaskSpec

_MOST_TURNS = 50  # that are kept
_MOST_BYTES = 4 * 2**20  # of their observations; the first turn is kept in any case
_LEAST_ROWS = 20  # that are asked again
_SHARE = 100  # one turn of so many is asked again


@dataclass(frozen=True, slots=True)
class Repetition:
    """The result of asking an agent again."""

    rows: int = 0  # observations that it was shown again
    difference: str = ""  # its first other action; empty: it chose the same
    fault: str = ""  # why it was not asked all of them


@dataclass(frozen=True, slots=True)
class RecordedTurns:
    """The first turns of a frozen agent, and what it answered."""

    spec: TaskSpec  # as the agent received it
    clips: bool  # see ActionChecks
    turns: Sequence[tuple[Turn, bytes]]  # with its actions, packed


class RepeatableAgent(SlotAgent):
    """Keeps the first turns, up to the first answer that lacks an action."""

    def __init__(self, calls: AgentCalls, spec: TaskSpec, *, clips: bool) -> None:
        super().__init__(calls, spec, clips=clips)
        self._turns: list[Turn] = []
        self._answers: list[bytes] = []  # their actions, packed
        self._keeps = calls.turn_every_s == 0
        self._bytes = 0
        self._told = self._heard = 0  # turns

    def ask(self, turn: Turn) -> None:
        if self._keeps:
            self._keep(_copied(turn))
        super().ask(turn)
        self._told += 1

    def receive(self, *, may_hold: bool = True) -> Answer:
        answer = super().receive(may_hold=may_hold)
        if self._heard < len(self._turns):
            actions = _actions(answer)
            if actions is None:
                del self._turns[self._heard :]
                self._keeps = False
            else:
                self._answers.append(actions)
        self._heard += 1
        return answer

    @property
    def recorded(self) -> RecordedTurns:
        """The turns that were kept and answered."""
        answered = zip(self._turns, self._answers, strict=False)
        return RecordedTurns(self._spec, self.checks.clips, list(answered))

    def ask_again(self, *, least_rows: float = _LEAST_ROWS) -> Repetition | None:
        """Ask again what was kept, or as much as takes little of the agent's time.

        None: nothing was kept. Raises AgentFault if the agent is lost.
        """
        rows = 0
        for number, (turn, before) in enumerate(self.recorded.turns):
            if rows >= least_rows and number >= self._told // _SHARE:
                break
            super().ask(turn)
            answer = super().receive()
            if (actions := _actions(answer)) is None:
                return Repetition(rows, fault="it did not choose an action for each slot")
            if actions != before:
                where = self.difference(answer.slots, actions, before)
                return Repetition(rows, difference=f"turn {number + 1}, {where}")
            rows += len(answer.slots)
        return Repetition(rows) if rows else None

    def _keep(self, turn: Turn) -> None:
        self._bytes += sum(rows.nbytes for rows in turn.observations.values())
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
        agent.ask(turn)
        answer = agent.receive()
        if (actions := _actions(answer)) is None:
            return f"turn {number}: it did not choose an action for each slot", True
        if actions != before and not first:
            first = f"turn {number}, {agent.difference(answer.slots, actions, before)}"
    again = agent.ask_again(least_rows=math.inf) if first else None
    return first, again is None or not (again.difference or again.fault)


def _copied(turn: Turn) -> Turn:
    """With arrays that neither the agent nor the environment's next step can change."""
    ends, steps, starts = turn.ends, turn.steps, turn.starts
    return Turn(
        turn.phase,
        Ends(ends.slots.copy(), ends.kinds.copy()),
        Steps(steps.slots.copy(), steps.flags.copy()),
        Starts(starts.slots.copy(), starts.seeds.copy()),
        turn.rewards.copy(),
        {name: rows.copy() for name, rows in turn.observations.items()},
    )


def _actions(answer: Answer) -> bytes | None:
    """All of an answer, packed; None if a slot has none."""
    checked = answer.checked
    if checked is None or checked.defaulted or answer.faults or answer.held:
        return None
    return checked.packed.tobytes()
