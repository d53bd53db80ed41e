"""No order of routines, legal or not, with faults of either side, leads anywhere illegal.

A model says in a few words what each routine needs and does. Partners check every call
for themselves (see lab): the agent that it is told of every slot in which it acts, the
environment that it steps in mid-episode.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import settings
from hypothesis.stateful import (
    Bundle,
    RuleBasedStateMachine,
    initialize,
    invariant,
    multiple,
    rule,
)

from reglue.errors import (
    AgentFault,
    BadReply,
    EnvironmentFault,
    OutOfDomain,
    OutOfOrder,
    UnknownKey,
)
from tests.glue_server.lab import Actor, Bench, Lab, seen

LENGTH = 4  # steps after which an episode ends


def named(there_are: int) -> st.SearchStrategy[list[int]]:
    """None, which is all; a few of those that there are; seldom twice, or what there is not."""
    some = st.lists(st.integers(0, there_are - 1), min_size=1, unique=True)
    wild = st.lists(st.integers(0, 3), max_size=3)
    kinds = [st.just([]), some, some, some, some, st.just([]), some, wild]
    return st.sampled_from(kinds).flatmap(lambda kind: kind)


SLOTS = st.runner().flatmap(lambda machine: named(machine.slots_there_are))
SLOT = st.runner().flatmap(lambda machine: st.integers(0, machine.slots_there_are))
FATES = st.dictionaries(
    st.integers(0, 2),
    st.sampled_from(["ends", "truncates", "succeeds", "fails", "goes on", "goes on"]),
    max_size=3,
)
FAULTS = st.sampled_from([*[""] * 8, "nan", "gives up", "too many", "raises"])
ROW_FAULTS = {"nan": BadReply, "gives up": AgentFault, "too many": BadReply}

Error = type[Exception] | None


class Routines(RuleBasedStateMachine):
    """The model: S slots, each with two halves and its counts."""

    slots_there_are = 1
    partial = False
    keys: Bundle[Any] = Bundle("keys")

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

    # Both halves.

    @initialize(initially=st.sampled_from(["init", "init", "init", ""]))
    def begin_with(self, initially: str) -> None:
        if initially:
            self.upheave("init")

    @rule(slots=SLOTS, fates=FATES, fault=FAULTS)
    def start(self, slots: list[int], fates: dict[int, str], fault: str) -> None:
        routine = lambda: self.bench.start(slots)  # noqa: E731
        if kind := self.refusal(slots):
            return self.refused(routine, kind)
        named = sorted(slots) or [*range(self.slots_there_are)]
        if self.leaves_out(named):
            return self.refused(routine, OutOfOrder)
        self.meet(fates, fault)
        failed = self.begin(named, fates)
        void = [slot for slot in failed if slot in self.acting]
        self.acting -= {*named}
        asked = [slot for slot in named if slot not in failed]
        kind = self.act(asked, fault, both=True) or (EnvironmentFault if failed else None)
        turns: list[Any] = [("turn", void, [], asked)] if void or asked else []
        first = self.carried_out(routine, kind, ([("play", [], named)], turns))
        assert first is None or first.slots == (tuple(slots) or tuple(named))
        return None

    @rule(slots=SLOTS, fates=FATES, fault=FAULTS)
    def step(self, slots: list[int], fates: dict[int, str], fault: str) -> None:
        routine = lambda: self.bench.step(slots)  # noqa: E731
        if kind := self.refusal(slots):
            return self.refused(routine, kind)
        can = self.live.keys() & self.acting
        named = sorted(slots) or sorted(can)
        if not named or {*named} - can or self.leaves_out(named):
            return self.refused(routine, OutOfOrder)
        self.meet(fates, fault)
        before = dict(self.live)
        on, over, failed = self.move({slot: push_of(slot) for slot in named}, fates)
        self.acting -= {*named}
        kind = self.act(on, fault, both=True) or (EnvironmentFault if failed else None)
        turn: Any = ("turn", sorted(over + failed), on, [])
        stepped = self.carried_out(routine, kind, ([("play", named, [])], [turn]))
        if stepped is not None:
            order = slots or named
            assert stepped.observations["seen"].tolist() == [
                [before[slot][0] + 1, before[slot][1] + push_of(slot)] for slot in order
            ]
            ended = (stepped.terminated | stepped.truncated).tolist()
            assert ended == [slot in over for slot in order]
        return None

    @rule(most=st.integers(-1, LENGTH + 2), slots=SLOTS)
    def episode(self, most: int, slots: list[int]) -> None:
        routine = lambda: self.bench.episode(most, slots)  # noqa: E731
        if most < 0:
            return self.refused(routine, OutOfDomain)
        if kind := self.refusal(slots):
            return self.refused(routine, kind)
        named = sorted(slots) or [*range(self.slots_there_are)]
        if self.leaves_out(named):
            return self.refused(routine, OutOfOrder)
        self.meet({})
        steps = min(most - 1, LENGTH) if most else LENGTH
        ends = steps == LENGTH
        self.begin(named, {})
        self.acting |= {*named}
        for _ in range(steps):
            _, over, _ = self.move({slot: push_of(slot) for slot in named}, {})
            self.acting -= {*over}
        plays = [("play", [], named), *[("play", named, [])] * steps]
        turns: list[Any] = [("turn", [], [], named), *[("turn", [], named, [])] * (steps - ends)]
        turns += [("turn", named, [], [])] * ends
        assert self.carried_out(routine, None, (plays, turns)) == ends
        return None

    # Half steps.

    @rule(slots=SLOTS, fates=FATES)
    def env_start(self, slots: list[int], fates: dict[int, str]) -> None:
        routine = lambda: self.bench.env_start(slots)  # noqa: E731
        if kind := self.refusal(slots):
            return self.refused(routine, kind)
        named = sorted(slots) or [*range(self.slots_there_are)]
        self.meet(fates)
        kind = EnvironmentFault if self.begin(named, fates) else None
        self.carried_out(routine, kind, ([("play", [], named)], []))
        return None

    @rule(slots=SLOTS, fates=FATES, push=st.sampled_from([0.25, -1.0, 8.0, np.nan, "hard"]))
    def env_step(self, slots: list[int], fates: dict[int, str], push: Any) -> None:
        pushes = [[push]] * len(slots)
        routine = lambda: self.bench.env_step({"push": pushes}, slots)  # noqa: E731
        if push == "hard" and slots:
            return self.refused(routine, OutOfDomain)
        if kind := self.refusal(slots, some=True):
            return self.refused(routine, kind)
        if {*slots} - self.live.keys():
            return self.refused(routine, OutOfOrder)
        if np.isnan(push):
            return self.refused(routine, OutOfDomain)
        self.meet(fates)
        _, _, failed = self.move(dict.fromkeys(sorted(slots), push), fates)
        kind = EnvironmentFault if failed else None
        self.carried_out(routine, kind, ([("play", sorted(slots), [])], []))
        return None

    @rule(slots=SLOTS, fault=FAULTS)
    def agent_start(self, slots: list[int], fault: str) -> None:
        routine = lambda: self.bench.agent_start(seen(0, 0, len(slots)), slots)  # noqa: E731
        if kind := self.refusal(slots, some=True):
            return self.refused(routine, kind)
        if self.leaves_out(slots):
            return self.refused(routine, OutOfOrder)
        self.meet({}, fault)
        kind = self.act(sorted(slots), fault, both=False)
        self.carried_out(routine, kind, ([], [("turn", [], [], sorted(slots))]))
        return None

    @rule(slots=SLOTS, fault=FAULTS, reward=st.sampled_from([0.5, np.inf]))
    def agent_step(self, slots: list[int], fault: str, reward: float) -> None:
        given = [reward] * len(slots), seen(0, 0, len(slots)), slots
        routine = lambda: self.bench.agent_step(*given)  # noqa: E731
        if kind := self.refusal(slots, some=True):
            return self.refused(routine, kind)
        if {*slots} - self.acting or self.leaves_out(slots):
            return self.refused(routine, OutOfOrder)
        if reward == np.inf:
            return self.refused(routine, OutOfDomain)
        self.meet({}, fault)
        kind = self.act(sorted(slots), fault, both=False)
        self.carried_out(routine, kind, ([], [("turn", [], sorted(slots), [])]))
        return None

    @rule(slots=SLOTS)
    def agent_end(self, slots: list[int]) -> None:
        given = [0.0] * len(slots), seen(0, 0, len(slots)), slots
        routine = lambda: self.bench.agent_end(*given)  # noqa: E731
        if kind := self.refusal(slots, some=True):
            return self.refused(routine, kind)
        if {*slots} - self.acting or self.leaves_out(slots):
            return self.refused(routine, OutOfOrder)
        self.meet({})
        self.acting -= {*slots}
        self.carried_out(routine, None, ([], [("turn", sorted(slots), [], [])]))
        return None

    # States.

    @rule(target=keys, slot=SLOT)
    def get_state(self, slot: int) -> Any:
        routine = lambda: self.bench.get_state(slot)  # noqa: E731
        if kind := self.refusal([slot]) or (None if slot in self.live else OutOfOrder):
            self.refused(routine, kind)
            return multiple()
        self.meet({})
        key = self.carried_out(routine, None, ([("get_state", slot)], []))
        return key, self.live[slot]

    @rule(slot=SLOT, kept=st.one_of(keys, st.just(("state-1-0", (0, 0.0)))))
    def set_state(self, slot: int, kept: Any) -> None:
        key, state = kept
        routine: Callable[[], object] = lambda: self.bench.set_state(key, slot)  # noqa: E731
        if kind := self.refusal([slot]) or (UnknownKey if key == "state-1-0" else None):
            return self.refused(routine, kind)
        self.bench.asked()
        routine()
        [[routine_called, where, _]], agents = self.bench.asked()
        assert (routine_called, where, agents) == ("set_state", slot, [])
        self.live[slot] = state
        self.bench.get_state(slot)  # is legal now
        return None

    # The rest.

    @rule(
        aside=st.sampled_from(["seeds", "freeze", "standardize", "messages"]),
        slot=SLOT,
        seed=st.integers(-1, 3),
    )
    def aside(self, aside: str, slot: int, seed: int) -> None:
        bench = self.bench
        match aside:
            case "seeds":
                routine: Any = lambda: bench.set_random_seed(bench.get_random_seed(slot), slot)  # noqa: E731
                kind = self.refusal([slot]) or (None if slot in self.live else OutOfOrder)
            case "freeze":
                routine, kind = bench.freeze, self.refusal()
            case "standardize":
                routine = lambda: bench.standardize_randomness(seed)  # noqa: E731
                kind = OutOfDomain if seed < 0 else self.refusal()
            case _:
                routine, kind = (lambda: bench.agent_message(bench.env_message("hi"))), None
        if kind is None:
            routine()
        else:
            self.refused(routine, kind)

    @rule(upheaval=st.sampled_from(["init", "init", "cleanup", "environment lost", "agent lost"]))
    def upheaval(self, upheaval: str) -> None:
        self.upheave(upheaval)

    def upheave(self, upheaval: str) -> None:
        """Nothing is live afterwards."""
        void = sorted(self.acting)
        self.meet({})
        kind: Error = None
        routine: Callable[[], object]
        match upheaval:
            case "init":
                self.is_ready, routine = True, self.bench.init
                asked: Any = [("env_init", self.slots_there_are)], [("init", self.slots_there_are)]
                self.counts = [[0.0, 0, 0] for _ in range(self.slots_there_are)]
            case "cleanup":
                if kind := self.refusal():
                    return self.refused(self.bench.cleanup, kind)
                self.is_ready, routine = False, self.bench.cleanup
                asked = [("cleanup",)], [("cleanup",)]
            case "environment lost":
                self.bench.lab.broken, kind = "message", EnvironmentFault
                routine = lambda: self.bench.env_message("hi")  # noqa: E731
                asked = [("message", "hi")], [("turn", void, [], [])] if void else []
            case _:
                self.bench.actor.broken, kind = "message", AgentFault
                routine = lambda: self.bench.agent_message("hi")  # noqa: E731
                asked = [], [("message", "hi")]
        self.live, self.acting = {}, set()
        self.carried_out(routine, kind, asked)
        self.bench.lab.broken = self.bench.actor.broken = ""
        return None

    @invariant()
    def counts_are_the_models(self) -> None:
        self.bench.slots = range(len(self.counts))
        assert self.bench.counts() == [tuple(each) for each in self.counts]


def push_of(slot: int) -> float:
    """What the actor chooses there."""
    return 0.5**slot / 2


class OfThree(Routines):
    slots_there_are = 3


class OfThreePartial(Routines):
    slots_there_are = 3
    partial = True


TestOneSlot = Routines.TestCase
TestThreeSlotsAndWholeTurns = OfThree.TestCase
TestThreeSlotsAndPartialTurns = OfThreePartial.TestCase

_SEARCH = settings(max_examples=60, stateful_step_count=40)
TestOneSlot.settings = _SEARCH
TestThreeSlotsAndWholeTurns.settings = _SEARCH
TestThreeSlotsAndPartialTurns.settings = _SEARCH
