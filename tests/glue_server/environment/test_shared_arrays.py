"""The rows that a worker writes into the shared memory are those of its worlds."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any, ClassVar

import numpy as np
import pytest

from glue_server.environment.shared_arrays import SharedArrays
from glue_server.environment.worker_pool import new_memory
from reglue.environments.slot_worlds import Worlds
from reglue.environments.world import Step
from reglue.errors import IllegalAction
from reglue.messages.agent_messages import Phase
from reglue.messages.environment_messages import Cell, Play, Played
from reglue.spec import Array, Arrays, Box, Discrete, TaskSpec, TensorSpec
from tests.reglue.wire.bits import bits

SLOTS = 4
FAILS, IS_ILLEGAL, ENDS, IS_OUTSIDE = range(4)  # what an action brings about


class Scripted:
    """A world whose actions say what comes of them. Its observations are one array."""

    def __init__(self) -> None:
        self._seen: dict[str, Array] = {
            "place": np.zeros(3, np.float32),
            "steps": np.zeros((), np.int64),
        }

    def start(self, cell: Cell) -> Arrays:
        if cell.task == "broken":
            raise RuntimeError("it cannot begin")
        self._seen["steps"][...] = 0
        self._seen["place"][:] = cell.seed / 100
        return self._seen

    def step(self, action: Arrays) -> Step:
        self._seen["steps"] += 1
        match int(action["what"]):
            case 0:
                raise RuntimeError("it failed")
            case 1:
                raise IllegalAction("a wrong move")
            case 3:
                self._seen["place"][0] = 2.0
        ends = int(action["what"]) == ENDS
        return Step(float(action["what"]), self._seen, ends, not ends, ends)

    def close(self) -> None:
        pass


class Scripts:
    """A suite of them."""

    spec: ClassVar[TaskSpec] = TaskSpec(
        (TensorSpec("place", "float32", (3,), Box((0.0,), (1.0,))), TensorSpec("steps", "int64")),
        (TensorSpec("what", "int64", (), Discrete(5)),),
    )
    variants: ClassVar[Mapping[str, int]] = MappingProxyType({"scripted": 1, "broken": 1})
    standardizes = False

    def world(self) -> Scripted:
        return Scripted()


@pytest.fixture
def memory() -> Iterator[int]:
    descriptor = new_memory()
    yield descriptor
    os.close(descriptor)


def worlds() -> Worlds:
    made = Worlds(Scripts())
    made.spec = made.env_init(SLOTS)
    return made


def start(*slots: int, task: str = "scripted") -> dict[int, Cell]:
    return {slot: Cell(task, 0, 10 * slot, 0, Phase.TRAIN) for slot in slots}


def step(actions: Mapping[int, int], starts: Mapping[int, Cell] | None = None) -> Play:
    slots = np.array([*actions], np.uint32)
    return Play(slots, {"what": np.array([*actions.values()], np.int64)}, starts or {})


def without_lines(faults: Mapping[int, str]) -> dict[int, str]:
    """Tracebacks' last lines: the lines of this process differ."""
    return {slot: what.strip().splitlines()[-1] for slot, what in faults.items()}


def facts(played: Played) -> Any:
    return bits(replace(played, faults=without_lines(played.faults)))


PLAYS = (
    step({}, start(0, 1, 3)),
    step({0: 4, 1: 4, 3: 4}),
    step({3: ENDS, 0: IS_OUTSIDE}, start(2)),
    step({0: FAILS, 1: IS_ILLEGAL, 2: 4}, start(3)),
    step({1: 4, 2: ENDS}, {**start(0), **start(3, task="broken")}),
    step({2: 4, 1: FAILS, 0: IS_OUTSIDE}),
)


def test_an_answer_in_shared_memory_is_what_the_worlds_answer(memory: int) -> None:
    plain, written = worlds(), worlds()
    theirs, ours = (SharedArrays(plain.spec, memory) for _ in range(2))
    for play in PLAYS:
        ours.put_actions(play)
        whole = Play(play.slots, theirs.actions(play.slots), play.starts)
        said = theirs.answer(whole, written)
        got = ours.played(play, said.faults, said.illegal, said.outside)
        assert facts(got) == facts(plain.play(play))


def test_an_answer_stays_when_the_slots_are_played_again(memory: int) -> None:
    """An agent may keep what it was shown."""
    made = worlds()
    shared = SharedArrays(made.spec, memory)
    kept = []
    for play in PLAYS[:2]:
        said = shared.answer(play, made)
        kept.append(shared.played(play, said.faults, said.illegal))
    before = [bits(played) for played in kept]
    for play in PLAYS[2:]:
        shared.answer(play, made)
    assert [bits(played) for played in kept] == before
    for played in kept:
        for array in (played.rewards, played.terminated, *played.observations.values()):
            assert array.base is None
            assert array.flags.writeable


def test_an_answer_that_came_over_a_wire_is_the_same_in_shared_memory(memory: int) -> None:
    """As placed workers have it."""
    made = worlds()
    shared = SharedArrays(made.spec, memory)
    for play in PLAYS:
        played = made.play(play)
        shared.put_played(play, played)
        got = shared.played(play, played.faults, played.illegal, played.outside)
        assert facts(got) == facts(played)
