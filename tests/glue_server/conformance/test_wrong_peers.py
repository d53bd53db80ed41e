"""A peer that breaks a rule is found out by the check of that rule, and passes another."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from glue_server.conformance.harness import DRIVERS_OF_ANY_PROGRAM
from reglue import Box, TaskSpec
from reglue.conformance import ConformanceAgent, ConformanceEnvironment
from reglue.messages.agent_messages import Actions, Budget, Phase, Turn
from reglue.messages.environment_messages import Cell, Play, Played, Slots
from tests.glue_server.conformance.findings import found, verdicts
from tests.glue_server.conformance.thread_clients import session_of

pytestmark = pytest.mark.usefixtures("quiet")


# Agents.


class Swapping(ConformanceAgent):
    """Answers starts before steps."""

    def turn(self, turn: Turn) -> Any:
        answer: Any = super().turn(turn)
        return {name: np.roll(rows, len(turn.starts), 0) for name, rows in answer.items()}


class Single(ConformanceAgent):
    """Shows its author single precision."""

    def turn(self, turn: Turn) -> Any:
        with np.errstate(over="ignore"):
            observations = {
                name: rows.astype(np.float32).astype(rows.dtype)
                for name, rows in turn.observations.items()
            }
        return super().turn(replace(turn, observations=observations))


class BigEndian(ConformanceAgent):
    """Takes bytes as they came, on a machine of the other order."""

    def turn(self, turn: Turn) -> Any:
        observations = {name: rows.byteswap() for name, rows in turn.observations.items()}
        return super().turn(replace(turn, observations=observations))


class Endless(ConformanceAgent):
    """Is told of no ends."""

    def agent_end(self, *_: Any) -> None:
        pass


class Unforgetting(ConformanceAgent):
    """Begins anew once."""

    def agent_init(self, spec: TaskSpec) -> None:
        if len(self._memory) != spec.slots:
            super().agent_init(spec)


class Unlimited(ConformanceAgent):
    """Hears of no budget."""

    @property
    def budget(self) -> Budget:
        return Budget()

    @budget.setter
    def budget(self, value: Budget) -> None:
        pass


class Rewarded(ConformanceAgent):
    """Sees zeros where rewards are withheld."""

    def _rewards(self, rewards: Any) -> Any:
        return np.frombuffer(np.nan_to_num(rewards).tobytes(), np.uint8).reshape(-1, 8)


class Clinging(ConformanceAgent):
    """Keeps the episodes that it should give up."""

    def turn(self, turn: Turn) -> Any:
        answer = super().turn(turn)
        return answer.arrays if isinstance(answer, Actions) else answer


class Small(ConformanceAgent):
    """Has few slots."""

    max_slots = 3


class Lossy(ConformanceAgent):
    """Passes on what is ASCII."""

    def agent_message(self, message: str) -> str:
        return super().agent_message(message).encode("ascii", "replace").decode()


class BoundLess(ConformanceAgent):
    """Tells its author of no bounds."""

    def agent_init(self, spec: TaskSpec) -> None:
        bare = tuple(replace(each, domain=Box()) for each in spec.observations)
        self.spec = replace(spec, observations=bare)
        super().agent_init(self.spec)


AGENTS: Mapping[str, tuple[type[ConformanceAgent], str]] = {
    "rows swapped": (Swapping, "turns.end-and-start"),
    "single precision": (Single, "tensors.float64"),
    "the other byte order": (BigEndian, "tensors.uint16"),
    "no ends": (Endless, "turns.ends"),
    "init forgets nothing": (Unforgetting, "calls.init-again"),
    "no budget": (Unlimited, "turns.budget"),
    "rewards that are withheld": (Rewarded, "turns.withheld"),
    "abandon is dropped": (Clinging, "turns.abandon"),
    "texts of ASCII": (Lossy, "calls.texts"),
    "no bounds": (BoundLess, "tensors.box"),
    "another hello": (Small, "join.hello"),
}


@pytest.mark.parametrize("what", AGENTS)
def test_a_wrong_agent_is_found_out(what: str) -> None:
    agent, check = AGENTS[what]
    assert "wanted" in found("agent", session_of(agent), check, "calls.message-first")


# Environments.


class Confusing(ConformanceEnvironment):
    """Takes the end of a task for the end of time."""

    def play(self, play: Play) -> Played:
        played = super().play(play)
        return replace(played, terminated=played.truncated, truncated=played.terminated)


class Trusting(ConformanceEnvironment):
    """Takes any bytes for a state."""

    def env_set_state(self, slot: int, state: bytes) -> None:
        if state.startswith(b"state"):
            super().env_set_state(slot, state)


class Shallow(ConformanceEnvironment):
    """Keeps a state without its rng."""

    def env_set_state(self, slot: int, state: bytes) -> None:
        rng = self._episodes[slot].rng
        super().env_set_state(slot, state)
        self._episodes[slot] = replace(self._episodes[slot], rng=rng)


class Countless(ConformanceEnvironment):
    """Starts every episode alike once randomness is standardized."""

    def _numbered(self, cell: Cell) -> Cell:
        return cell if self._standard is None else replace(cell, seed=self._standard[0], repeat=0)


class Deaf(ConformanceEnvironment):
    """Does not say which slot failed."""

    def play(self, play: Play) -> Played:
        return replace(super().play(play), faults={})


class Lenient(ConformanceEnvironment):
    """Plays on where success should end an episode."""

    def env_start(self, cells: Mapping[int, Cell]) -> Any:
        shown = super().env_start(cells)
        for slot in cells:
            self._episodes[slot] = replace(self._episodes[slot], is_judged=False)
        return shown


class Sorted(ConformanceEnvironment):
    """Answers in the order of slots."""

    def env_step(self, actions: Any, slots: Slots) -> Any:
        order = np.argsort(slots)
        return super().env_step({name: a[order] for name, a in actions.items()}, slots[order])


class Unadapting(ConformanceEnvironment):
    """Takes adaptation for training."""

    def _numbered(self, cell: Cell) -> Cell:
        phase = Phase.TRAIN if cell.phase is Phase.ADAPT else cell.phase
        return super()._numbered(replace(cell, phase=phase))


class StepsAll(ConformanceEnvironment):
    """A step moves the other slots, too, though it says otherwise."""

    def env_step(self, actions: Any, slots: Slots) -> Any:
        others = [slot for slot in self._episodes if slot not in slots]
        self._move(others, [np.zeros((len(others), 1), np.uint8)])
        return super().env_step(actions, slots)


class StartsAll(ConformanceEnvironment):
    """A start begins the episodes of the other slots anew, too."""

    def env_start(self, cells: Mapping[int, Cell]) -> Any:
        for slot in self._episodes.keys() - cells.keys():
            self._episodes[slot] = replace(self._episodes[slot], memory=0)
        return super().env_start(cells)


ENVIRONMENTS: Mapping[str, tuple[type[ConformanceEnvironment], str]] = {
    "flags swapped": (Confusing, "calls.one-slot"),
    "any state is taken": (Trusting, "states.unknown-keys"),
    "half a state is kept": (Shallow, "states.state"),
    "starts are not numbered": (Countless, "environment.standardize"),
    "a step moves all slots": (StepsAll, "calls.some-slots"),
    "a start moves all slots": (StartsAll, "calls.some-slots"),
    "faults are dropped": (Deaf, "environment.slot-fault"),
    "success does not end": (Lenient, "calls.many-slots"),
    "rows sorted": (Sorted, "calls.some-slots"),
}


@pytest.mark.parametrize("what", ENVIRONMENTS)
def test_a_wrong_environment_is_found_out(what: str) -> None:
    environment, check = ENVIRONMENTS[what]
    assert "wanted" in found("environment", session_of(environment), check)


def test_an_environment_that_is_declared_not_repeatable_is_not_checked_for_it() -> None:
    class Unrepeatable(ConformanceEnvironment):
        repeatable = False

    name = "environment.repeats"
    drivers = DRIVERS_OF_ANY_PROGRAM
    verdict = verdicts("environment", session_of(Unrepeatable), name, drivers=drivers)[name]
    assert (verdict.passed, verdict.skipped) == (True, True)
    assert "declared not repeatable" in verdict.detail


def test_an_environment_that_is_blind_to_adaptation_fails_the_check_of_that_alone() -> None:
    groups = ("calls.*", "environment.*", "states.*")
    became = verdicts("environment", session_of(Unadapting), *groups)
    assert [name for name, each in became.items() if not each.passed] == ["environment.adapt"]
