"""The conditions and effects of a program's routines, in a few words.

Peers check every call for themselves (see lab): the agent that it is told of every slot
in which it acts, the environment that it steps in mid-episode.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import pytest
from hypothesis.stateful import RuleBasedStateMachine

from reglue import EndKind, Phase
from reglue.errors import (
    AgentFault,
    BadAgentReply,
    NotSupported,
    OutOfDomain,
    OutOfOrder,
)
from tests.glue_server.routines.lab import Actor, Bench, Course, Learner, ends_of

LENGTH = 4  # steps after which an episode ends
ROW_FAULTS = {"nan": BadAgentReply, "gives up": AgentFault, "too many": BadAgentReply}

Error = type[Exception] | None
Choice = tuple[str | None, int | None]  # task and variant, as a program names them


class Model(RuleBasedStateMachine):
    """S slots, each with two halves and its counts; a program beside it to compare."""

    slots_there_are = 1
    partial = False
    adapts = True

    def __init__(self) -> None:
        super().__init__()
        lab = Course()
        lab.length = LENGTH
        self.variants: Mapping[str, int] = lab.variants
        actor = (Learner if self.adapts else Actor)(partial=self.partial)
        self.bench = Bench(slots=self.slots_there_are, lab=lab, actor=actor)
        self.is_ready = False
        self.live: dict[int, tuple[int, float]] = {}  # steps taken, sum of pushes
        self.acting: set[int] = set()
        self.cut_off: set[int] = set()  # of these, where no episode is in play
        self.counts: list[list[float]] = [[0.0, 0, 0]]
        self.begun: list[tuple[str, int, Phase]] = []  # the environment's episodes
        self.turns: list[Phase] = []  # the agent's
        self.kinds: dict[int, EndKind] = {}  # of this routine's ends, where it is not VOID
        self.begin_anew()

    def begin_anew(self) -> None:
        """The effect of RL_init on phases and goals."""
        self.phase = Phase.TRAIN
        self.can_learn = False  # an episode has begun since the last adapt
        self.goals = [("hall", 0)] * self.slots_there_are
        self.new = {*range(self.slots_there_are)}  # slots whose first goal comes next

    # What is refused.

    def refusal(self, slots: Sequence[int] = (), *, some: bool = False) -> Error:
        """The refusal of a routine over `slots`; `some` where it must name one."""
        if not self.is_ready:
            return OutOfOrder
        unknown = any(slot >= self.slots_there_are for slot in slots)
        if unknown or len({*slots}) < len(slots) or (some and not slots):
            return OutOfDomain
        return None

    def leaves_out(self, slots: Iterable[int]) -> bool:
        return not self.partial and bool(self.acting - {*slots})

    def cannot_learn(self, routine: str) -> Error:
        """The refusal of adapt_begin, adapt or freeze."""
        if kind := self.refusal() or (None if routine == "freeze" else self.cannot_adapt()):
            return kind
        if routine == "adapt" and not (self.phase is Phase.ADAPT and self.can_learn):
            return OutOfOrder
        return None

    def cannot_adapt(self) -> Error:
        if not self.adapts:
            return NotSupported
        return OutOfOrder if self.acting - self.cut_off else None

    def in_play(self, slots: Iterable[int]) -> bool:
        """Whether an episode is, in one of them."""
        return bool({*slots} & (self.live.keys() - self.cut_off))

    def choose(self, slots: Sequence[int], choice: Choice) -> Error:
        """Let these slots play that: what it is refused with."""
        task, variant = choice
        if choice == (None, None):
            return None
        if self.in_play(slots):
            return OutOfOrder
        goals = [(task or self.goals[slot][0], variant or 0) for slot in slots]
        if any(number >= self.variants.get(name, 0) for name, number in goals):
            return OutOfDomain
        for slot, goal in zip(slots, goals, strict=True):
            self.goals[slot] = goal
        self.new -= {*slots}
        return None

    def refused(self, routine: Callable[[], object], kind: type[Exception]) -> None:
        """It raises just that; nobody is asked."""
        self.bench.asked()
        with pytest.raises(kind) as raised:
            routine()
        assert type(raised.value) is kind
        assert self.bench.asked() == ([], [])

    # What happens.

    def meet(self, fates: dict[int, str], fault: str = "") -> None:
        self.bench.asked()
        self.kinds = {}
        self.bench.lab.fate = dict(fates)
        self.bench.actor.fault = fault

    def carried_out(
        self, routine: Callable[[], Any], kind: Error, asked: tuple[list[Any], list[Any]]
    ) -> Any:
        """It raises `kind`, or nothing; both were asked what the model says, with such ends."""
        answer, before = None, len(self.bench.actor.turns)
        ends: list[tuple[int, EndKind]] = []
        if kind is None:
            answer = routine()
        else:
            with pytest.raises(kind) as raised:
                routine()
            assert type(raised.value) is kind
        self.bench.actor.fault = ""
        assert self.bench.asked() == asked
        for turn in asked[1]:
            if turn[0] == "turn":
                self.turns.append(self.phase)
                self.can_learn |= bool(turn[3])
                ends += [(slot, self.kinds.get(slot, EndKind.VOID)) for slot in turn[1]]
        assert ends_of(self.bench.actor, before) == ends
        return answer

    def begin(self, slots: Sequence[int], fates: dict[int, str]) -> list[int]:
        """env_start: the slots that fail."""
        failed = [slot for slot in slots if fates.get(slot) == "fails"]
        self.new -= {*slots}
        self.cut_off -= {*slots}
        for slot in slots:
            self.begun.append((*self.goals[slot], self.phase))
            self.live.pop(slot, None)
            if slot not in failed:
                self.live[slot] = 0, 0.0
                self.counts[slot][:2] = [0.0, 1]
        return failed

    def move(
        self, pushes: dict[int, float], fates: dict[int, str]
    ) -> tuple[list[int], list[int], list[int]]:
        """env_step: the slots that go on, that end and that fail."""
        on, over, failed = [], [], []
        self.cut_off -= pushes.keys()
        for slot, push in pushes.items():
            fate, (taken, total) = fates.get(slot), self.live.pop(slot)
            if fate == "fails":
                failed.append(slot)
                continue
            self.counts[slot][0] += push
            terminated = fate == "ends" or taken + 1 == LENGTH
            if terminated or fate == "truncates":
                self.kinds[slot] = EndKind.TERMINATED if terminated else EndKind.TRUNCATED
                self.counts[slot][2] += 1
                over.append(slot)
            else:
                self.counts[slot][1] += 1
                self.live[slot] = taken + 1, total + push
                on.append(slot)
        return on, over, failed

    def act(self, asked: list[int], fault: str, *, both: bool) -> Error:
        """The agent's turn: what it raises. `both` halves of a slot at fault are over."""
        self.acting |= {*asked}
        self.cut_off -= {*asked}
        if not asked or not fault:
            return None
        if fault == "raises":
            self.live.clear()
            self.acting.clear()
            return AgentFault
        lost = asked if fault == "too many" else asked[:1]
        self.acting -= {*lost}
        if both:
            for slot in lost:
                self.live.pop(slot, None)
        return ROW_FAULTS[fault]


def push_of(slot: int) -> float:
    """The actor's action there."""
    return 0.5**slot / 2
