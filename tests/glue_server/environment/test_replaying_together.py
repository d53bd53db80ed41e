"""Environments that step a whole batch: never a wrong row with `ok`."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from env_adapters import Cell
from glue_server import Glue, Outcome
from glue_server.episodes.recording import CRASHED
from reglue import Phase
from reglue.errors import EnvironmentFault, OutOfOrder
from reglue.messages.agent_messages import Actions
from tests.batches import Batch
from tests.error_facts import raises
from tests.glue_server.environment.halls import pool_over
from tests.glue_server.playing import Follower, Partial, by_k, glue_of, in_turn, played

CELLS = [Cell("task", 0, seed=seed, repeat=0, phase=Phase.EVALUATE) for seed in range(20)]


def rows(agent: Follower, batch: Batch, slots: int) -> list[Outcome]:
    return played(agent, pool_over(batch, slots), CELLS)


@pytest.fixture(scope="module")
def truth() -> list[Outcome]:
    return rows(Follower(), Batch(), 1)


@pytest.mark.parametrize("slots", [1, 4, 8, 20])
@pytest.mark.parametrize("agent", [Follower, Partial])
def test_a_batch_plays_the_rows_of_one_slot(
    agent: type[Follower], slots: int, truth: list[Outcome]
) -> None:
    assert rows(agent(), Batch(), slots) == truth


@pytest.mark.parametrize("slots", [1, 4, 8, 20])
@pytest.mark.parametrize("agent", [Follower, Partial])
def test_a_batch_that_fails_once_is_played_again_as_a_whole(
    agent: type[Follower], slots: int, truth: list[Outcome]
) -> None:
    batch = Batch(raises_at={7, 20})
    assert rows(agent(), batch, slots) == truth
    assert batch.made > 1


def test_a_batch_that_fails_again_is_a_fault_of_each_episode_that_is_on() -> None:
    outcomes = rows(Partial(), Batch(always_raises=True), 4)
    assert {each.status for each in outcomes} == {"environment_error"}
    assert all("the belt slipped" in each.detail for each in outcomes)
    assert all("its failure is the failure of each" in each.detail for each in outcomes)


def test_a_batch_of_one_episode_that_fails_again_has_crashed() -> None:
    assert {each.status for each in rows(Partial(), Batch(always_raises=True), 1)} == {CRASHED}


def test_a_batch_that_is_not_repeatable_is_not_played_again() -> None:
    class Dice(Batch):
        repeatable = False

    batch = Dice(raises_at={2})
    outcomes = rows(Follower(), batch, 4)
    failed = [each for each in outcomes if each.status != "ok"]
    assert {each.status for each in failed} == {"environment_error"}
    assert len(failed) == 4
    assert all("not repeatable" in each.detail for each in failed)


def test_a_batch_that_goes_otherwise_when_it_is_played_again_is_a_fault() -> None:
    class Drifts(Batch):
        def env_step(self, actions, slots):  # type: ignore[no-untyped-def]
            earned = super().env_step(actions, slots)
            return replace(earned, rewards=np.asarray(earned.rewards) + self.made / 8)

    outcomes = rows(Follower(), Drifts(raises_at={4}), 4)
    failed = [each for each in outcomes if each.status != "ok"]
    assert len(failed) == 4
    assert all("goes otherwise" in each.detail for each in failed)


def test_a_start_that_fails_takes_the_other_episodes_with_it() -> None:
    """Nobody knows what it has done to the batch."""

    class NoSeven(Batch):
        def env_start(self, cells):  # type: ignore[no-untyped-def]
            if any(cell.seed == 7 for cell in cells.values()):
                raise RuntimeError("seed 7 cannot be played")
            return super().env_start(cells)

    outcomes = rows(Follower(), NoSeven(), 4)
    truth = rows(Follower(), Batch(), 1)
    wrong = [each.order.k for each in outcomes if each.status == "environment_error"]
    assert 7 in wrong
    assert len(wrong) <= 4
    assert all(
        mine == true for mine, true in zip(outcomes, truth, strict=True) if mine.status == "ok"
    )


def test_a_fault_of_one_slot_by_name_leaves_the_others(truth: list[Outcome]) -> None:
    class Names(Batch):
        def play(self, play):  # type: ignore[no-untyped-def]
            answer = super().play(play)
            at = self._age[play.slots] == 3
            bad = [s for s in play.slots[at].tolist() if self._length[s] == 9]
            return replace(answer, faults=dict.fromkeys(bad, "a stone"))

    outcomes = rows(Partial(), Names(), 4)
    assert {each.status for each in outcomes} == {"ok", CRASHED}
    assert all(
        mine == true for mine, true in zip(outcomes, truth, strict=True) if mine.status == "ok"
    )


def test_an_environment_that_keeps_slots_apart_is_played_in_groups() -> None:
    class Apart(Batch):
        whole_turns = False

        def env_step(self, actions, slots):  # type: ignore[no-untyped-def]
            kept = self._age.copy(), self._sum.copy()
            earned = super().env_step(actions, slots)
            others = np.setdiff1d(np.arange(len(self._age)), slots)
            self._age[others], self._sum[others] = kept[0][others], kept[1][others]
            return earned

    apart, whole = Apart(), Batch()
    assert rows(Partial(), apart, 8) == rows(Partial(), whole, 8)
    assert len(apart.subsets[0]) < len(whole.subsets[0]) == 8


def test_an_agent_cannot_hold_slots_of_a_batch() -> None:
    class Holds(Follower):
        def turn(self, turn):  # type: ignore[no-untyped-def]
            action = np.asarray(super().turn(turn))
            asked = [*turn.steps.slots.tolist(), *turn.starts.slots.tolist()]
            return Actions({"action": action}, held=tuple(asked[:1])) if asked else {}

    glue, told = glue_of(Holds(), pool_over(Batch(), 4))
    outcomes = by_k(glue.play(in_turn(CELLS[:4]), Phase.EVALUATE))
    assert {each.status for each in outcomes} == {"agent_error"}
    assert told.refusals[0] == "OUT_OF_DOMAIN"


def test_a_program_steps_all_slots_of_a_batch_that_are_on() -> None:
    with Glue(environment=Batch(), agent=Partial(), slots=3) as rl:
        rl.init()
        rl.start()
        with raises(OutOfOrder, got="RL_step without slots [1, 2], which are in mid-episode"):
            rl.step(slots=[0])
        with raises(OutOfOrder, got="RL_episode without slots [1, 2], which are in mid-episode"):
            rl.episode(slots=[0])
        rl.step()


def test_a_program_is_told_that_a_failure_took_the_other_episodes() -> None:
    """A start that fails leaves nobody knows what of the rest."""

    class Breaks(Batch):
        def env_start(self, cells):  # type: ignore[no-untyped-def]
            if self.stepped:
                raise RuntimeError("the belt slipped")
            return super().env_start(cells)

    with Glue(environment=Breaks(), agent=Partial(), slots=2) as rl:
        rl.init()
        rl.start()
        rl.step()
        with pytest.raises(EnvironmentFault, match="the belt slipped"):
            rl.start(slots=[0])
        with pytest.raises(EnvironmentFault, match="the belt slipped"):
            rl.step(slots=[1])
