"""What a program's routines need and do, in a few words.

Peers check every call for themselves (see lab): the agent that it is told of every slot
in which it acts, the environment that it steps in mid-episode.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import pytest
from hypothesis.stateful import RuleBasedStateMachine

from reglue.errors import (
    AgentFault,
    BadAgentReply,
    OutOfDomain,
    OutOfOrder,
)
from tests.glue_server.routines.lab import Actor, Bench, Lab

LENGTH = 4  # steps after which an episode ends
ROW_FAULTS = {"nan": BadAgentReply, "gives up": AgentFault, "too many": BadAgentReply}

Error = type[Exception] | None


class Model(RuleBasedStateMachine):
    """S slots, each with two halves and its counts; a program beside it to compare."""

    slots_there_are = 1
    partial = False

    def __init__(self) -> None:
        super().__init__()
        lab = Lab()
        lab.length = LENGTH
        actor = Actor(partial=self.partial)
        self.bench = Bench(slots=self.slots_there_are, lab=lab, actor=actor)
        self.is_ready = False
        self.live: dict[int, tuple[int, float]] = {}  # steps taken, sum of pushes
        self.acting: set[int] = set()
        self.counts: list[list[float]] = [[0.0, 0, 0]]

    # What is refused.

    def refusal(self, slots: Sequence[int] = (), *, some: bool = False) -> Error:
        """What a routine over `slots` is refused with; `some` where it must name one."""
        if not self.is_ready:
            return OutOfOrder
        unknown = any(slot >= self.slots_there_are for slot in slots)
        if unknown or len({*slots}) < len(slots) or (some and not slots):
            return OutOfDomain
        return None

    def leaves_out(self, slots: Iterable[int]) -> bool:
        return not self.partial and bool(self.acting - {*slots})

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
        self.bench.lab.fate = dict(fates)
        self.bench.actor.fault = fault

    def carried_out(
        self, routine: Callable[[], Any], kind: Error, asked: tuple[list[Any], list[Any]]
    ) -> Any:
        """It raises `kind`, or nothing; both were asked what the model says."""
        answer = None
        if kind is None:
            answer = routine()
        else:
            with pytest.raises(kind) as raised:
                routine()
            assert type(raised.value) is kind
        self.bench.actor.fault = ""
        assert self.bench.asked() == asked
        return answer

    def begin(self, slots: Sequence[int], fates: dict[int, str]) -> list[int]:
        """env_start: the slots that fail."""
        failed = [slot for slot in slots if fates.get(slot) == "fails"]
        for slot in slots:
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
        for slot, push in pushes.items():
            fate, (taken, total) = fates.get(slot), self.live.pop(slot)
            if fate == "fails":
                failed.append(slot)
                continue
            self.counts[slot][0] += push
            if fate in ("ends", "truncates") or taken + 1 == LENGTH:
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
    """What the actor chooses there."""
    return 0.5**slot / 2
