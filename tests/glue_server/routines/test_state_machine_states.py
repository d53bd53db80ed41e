"""No order of routines, legal or not, with faults of either side, leads anywhere illegal."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import hypothesis.strategies as st
import numpy as np
from hypothesis import settings
from hypothesis.stateful import (
    Bundle,
    initialize,
    invariant,
    multiple,
    rule,
)

from reglue import EndKind, Phase
from reglue.errors import (
    AgentFault,
    EnvironmentFault,
    OutOfDomain,
    OutOfOrder,
    UnknownKey,
)
from tests.glue_server.routines.lab import SPEC, seen
from tests.glue_server.routines.model import LENGTH, Choice, Error, Model, push_of


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
CHOICES = st.sampled_from(
    [
        *[(None, None)] * 5,
        *[(None, 1), (None, 2), ("hall", 2), ("yard", None), ("yard", 1)],
        *[("roof", None), ("hall", 3), ("yard", 2)],  # which do not exist
    ]
)
FAULTS = st.sampled_from([*[""] * 8, "nan", "gives up", "too many", "raises"])


class WholeSteps(Model):
    """Each routine, at any time: refused as the model says, or carried out so."""

    # Both halves.

    @initialize(initially=st.sampled_from(["init", "init", "init", ""]))
    def begin_with(self, initially: str) -> None:
        if initially:
            self.upheave("init")

    @rule(slots=SLOTS, goal=CHOICES, fates=FATES, fault=FAULTS)
    def start(self, slots: list[int], goal: Choice, fates: dict[int, str], fault: str) -> None:
        task, variant = goal
        routine = lambda: self.bench.start(slots, task=task, variant=variant)  # noqa: E731
        if kind := self.refusal(slots):
            return self.refused(routine, kind)
        named = sorted(slots) or [*range(self.slots_there_are)]
        if self.leaves_out(named):
            return self.refused(routine, OutOfOrder)
        if kind := self.choose(named, goal):
            return self.refused(routine, kind)
        self.meet(fates, fault)
        failed = self.begin(named, fates)
        void = [slot for slot in failed if slot in self.acting]
        self.acting -= {*named}
        asked = [slot for slot in named if slot not in failed]
        kind = self.act(asked, fault, both=True) or (EnvironmentFault if failed else None)
        turns: list[Any] = [("turn", void, [], asked)] if void or asked else []
        first = self.carried_out(routine, kind, ([("play", [], named)], turns))
        if first is not None:
            assert first.slots == tuple(slots or named)
            assert first.observations["seen"].tolist() == [[0.0, 0.0]] * len(named)
            assert first.actions["push"].tolist() == [[push_of(slot)] for slot in slots or named]
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
            assert stepped.rewards.tolist() == [push_of(slot) for slot in order]
            assert stepped.actions["push"].tolist() == [
                [push_of(slot) * (slot in on)] for slot in order
            ]
            assert stepped.observations["seen"].tolist() == [
                [before[slot][0] + 1, before[slot][1] + push_of(slot)] for slot in order
            ]
            ended = (stepped.terminated | stepped.truncated).tolist()
            assert ended == [slot in over for slot in order]
        return None

    @rule(most=st.integers(-1, LENGTH + 2), slots=SLOTS, goal=CHOICES)
    def episode(self, most: int, slots: list[int], goal: Choice) -> None:
        task, variant = goal
        routine = lambda: self.bench.episode(most, slots, task=task, variant=variant)  # noqa: E731
        if most < 0:
            return self.refused(routine, OutOfDomain)
        if kind := self.refusal(slots):
            return self.refused(routine, kind)
        named = sorted(slots) or [*range(self.slots_there_are)]
        if self.leaves_out(named):
            return self.refused(routine, OutOfOrder)
        if kind := self.choose(named, goal):
            return self.refused(routine, kind)
        self.meet({})
        steps = min(most - 1, LENGTH) if most else LENGTH
        ends = steps == LENGTH
        self.begin(named, {})
        self.acting |= {*named}
        for _ in range(steps):
            _, over, _ = self.move({slot: push_of(slot) for slot in named}, {})
            self.acting -= {*over}
        if not ends:
            self.cut_off |= {*named}
        plays = [("play", [], named), *[("play", named, [])] * steps]
        turns: list[Any] = [("turn", [], [], named), *[("turn", [], named, [])] * (steps - ends)]
        turns += [("turn", named, [], [])] * ends
        assert self.carried_out(routine, None, (plays, turns)) == ends
        return None

    # Goals and adaptation.

    @rule(slots=SLOTS)
    def iterate_goal(self, slots: list[int]) -> None:
        routine = lambda: self.bench.iterate_goal(slots)  # noqa: E731
        named = slots or [*range(self.slots_there_are)]
        if kind := self.refusal(slots) or (OutOfOrder if self.in_play(named) else None):
            return self.refused(routine, kind)
        self.meet({})
        self.carried_out(routine, None, ([], []))
        for slot in {*named} - self.new:
            task, variant = self.goals[slot]
            self.goals[slot] = task, (variant + 1) % self.variants[task]
        self.new -= {*named}
        return None

    @rule(routine=st.sampled_from(["adapt_begin", "adapt", "adapt", "freeze"]), fault=FAULTS)
    def learn(self, routine: str, fault: str) -> None:
        call, breaks = getattr(self.bench, routine), fault == "raises"
        if kind := self.cannot_learn(routine):
            return self.refused(call, kind)
        self.meet({})
        self.bench.actor.broken = routine if breaks else ""
        self.carried_out(call, AgentFault if breaks else None, ([], [(routine,)]))
        self.bench.actor.broken = ""
        if breaks:
            self.live, self.acting = {}, set()
            return None
        self.phase = Phase.EVALUATE if routine == "freeze" else Phase.ADAPT
        self.can_learn = False
        return None

    def upheave(self, upheaval: str, goal: Choice = (None, None)) -> None:
        """Nothing is live afterwards."""
        void = sorted(self.acting)
        self.meet({})
        kind: Error = None
        routine: Callable[[], object]
        match upheaval:
            case "init":
                routine = lambda: self.bench.init(task=goal[0], variant=goal[1])  # noqa: E731
                self.is_ready = True
                asked: Any = [("env_init", self.slots_there_are)], [("init", self.slots_there_are)]
                self.counts = [[0.0, 0, 0] for _ in range(self.slots_there_are)]
                self.begin_anew()
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
        answer = self.carried_out(routine, kind, asked)
        assert upheaval != "init" or answer == SPEC.with_slots(self.slots_there_are)
        self.bench.lab.broken = self.bench.actor.broken = ""
        return None

    @invariant()
    def counts_are_the_models(self) -> None:
        self.bench.slots = range(len(self.counts))
        assert self.bench.counts() == [tuple(each) for each in self.counts]

    @invariant()
    def goals_and_phases_are_the_models(self) -> None:
        cells, turns = self.bench.lab.cells, self.bench.actor.turns
        assert [(cell.task, cell.variant, cell.phase) for cell in cells] == self.begun
        assert [turn.phase for turn in turns] == self.turns


class Routines(WholeSteps):
    """Every routine."""

    keys: Bundle[Any] = Bundle("keys")

    # Half steps.

    @rule(slots=SLOTS, goal=CHOICES, fates=FATES)
    def env_start(self, slots: list[int], goal: Choice, fates: dict[int, str]) -> None:
        task, variant = goal
        routine = lambda: self.bench.env_start(slots, task=task, variant=variant)  # noqa: E731
        if kind := self.refusal(slots):
            return self.refused(routine, kind)
        named = sorted(slots) or [*range(self.slots_there_are)]
        if kind := self.choose(named, goal):
            return self.refused(routine, kind)
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

    @rule(slots=SLOTS, kind=st.sampled_from([EndKind.TERMINATED, EndKind.TRUNCATED]))
    def agent_end(self, slots: list[int], kind: EndKind) -> None:
        given = [0.0] * len(slots), seen(0, 0, len(slots)), slots
        truncated = kind is EndKind.TRUNCATED
        routine = lambda: self.bench.agent_end(*given, truncated=truncated)  # noqa: E731
        if refusal := self.refusal(slots, some=True):
            return self.refused(routine, refusal)
        if {*slots} - self.acting or self.leaves_out(slots):
            return self.refused(routine, OutOfOrder)
        self.meet({})
        self.kinds = dict.fromkeys(slots, kind)
        self.acting -= {*slots}
        self.cut_off = (self.cut_off - {*slots}) | ({*slots} & self.live.keys())
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
        self.cut_off.discard(slot)
        self.bench.get_state(slot)  # is legal now
        return None

    # The rest.

    @rule(
        aside=st.sampled_from(["seeds", "standardize", "messages", "tasks"]),
        slot=SLOT,
        seed=st.integers(-1, 3),
    )
    def aside(self, aside: str, slot: int, seed: int) -> None:
        bench = self.bench
        match aside:
            case "seeds":
                routine: Any = lambda: bench.set_random_seed(bench.get_random_seed(slot), slot)  # noqa: E731
                kind = self.refusal([slot]) or (None if slot in self.live else OutOfOrder)
            case "tasks":
                routine, kind = (lambda: bench.tasks), self.refusal()
                assert kind or bench.tasks == self.variants
            case "standardize":
                routine = lambda: bench.standardize_randomness(seed)  # noqa: E731
                kind = OutOfDomain if seed < 0 else self.refusal()
            case _:
                routine, kind = (lambda: bench.agent_message(bench.env_message("hi"))), None
        if kind is None:
            routine()
        else:
            self.refused(routine, kind)

    @rule(goal=CHOICES)
    def init(self, goal: Choice) -> None:
        task, variant = goal[0] or "hall", goal[1] or 0
        if variant < self.variants.get(task, 0):
            self.upheave("init", goal)
            self.goals = [(task, variant)] * self.slots_there_are
        elif self.is_ready:  # else the environment is asked first what there is
            self.refused(lambda: self.bench.init(task=goal[0], variant=goal[1]), OutOfDomain)

    @rule(upheaval=st.sampled_from(["cleanup", "environment lost", "agent lost"]))
    def upheaval(self, upheaval: str) -> None:
        self.upheave(upheaval)


class OfOneThatCannotAdapt(Routines):
    adapts = False


class OfThree(Routines):
    slots_there_are = 3


class OfThreePartial(Routines):
    slots_there_are = 3
    partial = True


TestWholeSteps = WholeSteps.TestCase
TestOneSlot = Routines.TestCase
TestOneSlotOfOneThatCannotAdapt = OfOneThatCannotAdapt.TestCase
TestThreeSlotsAndWholeTurns = OfThree.TestCase
TestThreeSlotsAndPartialTurns = OfThreePartial.TestCase

_SEARCH = settings(max_examples=60, stateful_step_count=40)
TestWholeSteps.settings = _SEARCH
TestOneSlot.settings = _SEARCH
TestOneSlotOfOneThatCannotAdapt.settings = settings(max_examples=20, stateful_step_count=20)
TestThreeSlotsAndWholeTurns.settings = _SEARCH
TestThreeSlotsAndPartialTurns.settings = _SEARCH
