"""Slots of an environment leave each other alone, or it says so."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest

import reglue
from env_adapters.determinism import check_determinism
from env_adapters.slot_checks import check_slots
from reglue import Cell, Earned, Environment, TaskSpec, TensorSpec, Text
from reglue.errors import NotAnEnvironment
from tests.batches import Batch
from tests.error_facts import raises
from tests.glue_server.environment.halls import Hall


class Lies(Batch):
    """A step moves the whole batch, though it says otherwise."""

    whole_turns = False


class ResetsAll(Batch):
    """A start begins every slot's episode anew."""

    def env_start(self, cells: Any) -> Any:
        self._age[:], self._sum[:] = 0, 0
        return super().env_start(cells)


STEPS = "Lies, whose env_step in slot 1 changes the episode of slot 0"
STARTS = "ResetsAll, whose env_start in slot 1 changes the episode of slot 0"


@pytest.mark.parametrize(("lie", "got"), [(Lies, STEPS), (ResetsAll, STARTS)])
def test_a_lie_about_slots_is_found_before_the_first_episode(lie: type[Batch], got: str) -> None:
    with raises(NotAnEnvironment, got=got):
        check_slots(lie())
    with raises(NotAnEnvironment, got=got):
        check_determinism(lie())
    with raises(NotAnEnvironment, got=got):
        reglue.evaluate(lie(), agent=lambda seen: seen[:, :1] * 0, num_episodes=4, slots=2)


@pytest.mark.parametrize("environment", [Batch(), Hall(), Batch(always_raises=True)])
def test_an_environment_that_keeps_its_word_passes(environment: Batch | Hall) -> None:
    check_slots(environment)


class Chorus(Environment):
    """All slots share a count, which every step raises; actions are texts."""

    whole_turns = False

    def env_init(self, slots: int) -> TaskSpec:
        self.word, self.count = Text("word", 3, charset="abc"), 0
        return TaskSpec((TensorSpec("count", "int64"),), (self.word,))

    def env_start(self, cells: Mapping[int, Cell]) -> Any:
        return {"count": np.full(len(cells), self.count)}

    def env_step(self, actions: Any, slots: Any) -> Earned:
        for row in actions["word"]:
            self.word.decode(row)
        self.count += 1
        return Earned(np.zeros(len(slots)), {"count": np.full(len(slots), self.count)})


def test_slots_are_compared_where_actions_are_texts() -> None:
    got = "Chorus, whose env_step in slot 1 changes the episode of slot 0"
    with raises(NotAnEnvironment, got=got):
        check_slots(Chorus())


def test_slots_that_are_declared_separate_are_not_tried() -> None:
    class Separate(Lies):
        separate_slots = True

    reglue.evaluate(Separate(), agent=lambda seen: seen[:, :1] * 0, num_episodes=4, slots=2)


def test_one_slot_cannot_change_another() -> None:
    check_slots(Lies(), slots=1)


def test_what_does_not_play_alike_alone_is_not_judged() -> None:
    class Drifts(Lies):
        def env_init(self, slots: int) -> Any:
            spec = super().env_init(slots)
            self._sum += self.made / 8
            return spec

        def env_start(self, cells: Any) -> Any:
            first = super().env_start(cells)
            self._sum += self.made / 8
            return first

    check_slots(Drifts())


def test_rows_of_an_evaluated_batch_are_those_of_one_slot() -> None:
    def rows(batch: Batch, slots: int) -> list[tuple[float, int]]:
        result = reglue.evaluate(
            batch, agent="random", num_episodes=20, slots=slots, seed=1, raise_faults=False
        )
        return [(each.return_, each.steps) for each in result.episodes]

    assert rows(Batch(), 8) == rows(Batch(), 1)
