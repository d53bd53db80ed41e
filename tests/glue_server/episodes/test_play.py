"""Episodes through an agent and a pool: which rows come out."""

from __future__ import annotations

from dataclasses import replace
from itertools import accumulate
from typing import Any

import numpy as np
import pytest

from env_adapters import Cell
from glue_server import Order, Outcome
from reglue import ActionFlag, Actions, EndKind, Phase, Step
from reglue.spec import Arrays
from tests.glue_server.playing import (
    SOLVED,
    Follower,
    Scripted,
    by_k,
    cell,
    cells,
    corridor_pool,
    glue_of,
    in_turn,
    local,
    played,
    rows_of,
    still,
)
from tests.worlds import Corridor, Walk


@pytest.mark.parametrize("slots", [2, 7])
def test_rows_do_not_depend_on_the_number_of_slots(slots: int) -> None:
    alone = played(Follower(), corridor_pool(1), cells())
    assert played(Follower(), corridor_pool(slots), cells()) == alone


def test_a_row_is_what_the_episode_earned() -> None:
    """The actions that were played, replayed by hand, give its return to the bit."""
    for row in played(Follower(), corridor_pool(3), cells()):
        actions = np.frombuffer(row.actions, "<f4").tolist()
        rewards = (1.0 + 0.1 * action for action in actions)
        *_, earned = accumulate(rewards)  # not sum(), which rounds as it likes
        assert row.return_ == earned


@pytest.mark.parametrize(
    ("variant", "success", "steps"), [(0, True, 1), (1, True, 3), (2, False, 5), (3, True, 5)]
)
def test_an_evaluation_ends_at_its_success_or_at_the_horizon(
    variant: int, success: bool, steps: int
) -> None:
    [row] = played(Follower(), corridor_pool(), [cell(variant=variant)])
    assert (row.status, row.success, row.steps) == ("ok", success, steps)
    assert row.first_success == steps * success


@pytest.mark.parametrize("phase", [Phase.ADAPT, Phase.TRAIN])
def test_success_ends_no_episode_of_another_phase(phase: Phase) -> None:
    wanted = [cell(variant=0, phase=phase)]
    [row] = played(Follower(), corridor_pool(), wanted, phase)
    assert (row.success, row.first_success, row.steps) == (True, 1, 5)


class Staying(Corridor):
    """A corridor whose success, once there, stays."""

    def world(self) -> Walk:
        return Stays(self)


class Stays(Walk):
    def step(self, action: Arrays) -> Step:
        taken = super().step(action)
        return replace(taken, success=self._steps >= 2, terminated=False)


def test_the_first_success_is_the_first_of_several() -> None:
    """In each slot, and in each of its episodes."""
    pool = local(Staying(solved=SOLVED), 2)
    rows = played(Follower(), pool, cells(2))
    assert [(row.success, row.first_success, row.steps) for row in rows] == [(True, 2, 5)] * 4


@pytest.mark.parametrize(
    ("variant", "kind"), [(0, EndKind.TERMINATED), (2, EndKind.TRUNCATED), (3, EndKind.TERMINATED)]
)
def test_the_agent_is_told_how_an_episode_ended(variant: int, kind: EndKind) -> None:
    agent = Scripted(still)
    played(agent, corridor_pool(), [cell(variant=variant)])
    assert agent.ends == [(0, kind)]


def test_a_slot_ends_and_starts_in_one_turn() -> None:
    agent = Scripted(still)
    played(agent, corridor_pool(), [cell(variant=0), cell(variant=0)])
    shapes = [(len(turn.ends), len(turn.steps), len(turn.starts)) for turn in agent.turns]
    assert shapes == [(0, 0, 1), (1, 0, 1), (1, 0, 0)]


def test_a_slot_that_was_given_nothing_is_asked_again_when_an_episode_has_ended() -> None:
    """Not in every turn: a batch may have a thousand of them."""
    asked: list[int] = []
    order = in_turn([cell(variant=2)])

    def next_order(slot: int) -> Order | None:
        asked.append(slot)
        return order(slot)

    glue, _ = glue_of(Scripted(still), corridor_pool(3))
    [row] = glue.play(next_order, Phase.EVALUATE)
    assert row.steps == 5
    assert asked == [0, 1, 2, 0, 1, 2]


def test_the_last_turn_carries_ends_alone() -> None:
    """And asks for no action: an agent without rows answers without rows."""
    agent = Scripted(still)
    rows = played(agent, corridor_pool(2), [cell(variant=0), cell(variant=1)])
    assert (len(agent.turns[-1].ends), rows_of(agent.turns[-1])) == (1, 0)
    assert [row.status for row in rows] == ["ok", "ok"]


def test_rows_of_a_turn_belong_to_the_slots_that_it_names() -> None:
    """Ends, then steps, then starts, each in the order of slots."""
    agent = Scripted(still)
    wanted = [cell(variant=1), cell(variant=0), cell(variant=2), cell(variant=4)]
    played(agent, corridor_pool(3, show=True), wanted)
    second = agent.turns[1]
    slots = [part.slots.tolist() for part in (second.ends, second.steps, second.starts)]
    assert slots == [[1], [0, 2], [1]]
    assert second.observations["observation"].tolist() == [
        [1, 0, 0, 0],  # the end: one step taken of variant 0
        [1, 0, 0, 1],
        [1, 0, 0, 2],
        [0, 0, 0, 4],  # the start
    ]


def test_start_seeds_are_the_orders() -> None:
    agent = Scripted(still)
    glue, _ = glue_of(agent, corridor_pool())
    orders = iter([Order(0, 0, cell(), 2**64 - 1)])
    list(glue.play(lambda slot: next(orders, None), Phase.EVALUATE))
    assert agent.turns[0].starts.seeds.tolist() == [2**64 - 1]


def test_the_agent_sees_rewards_where_the_spec_does_not_withhold_them() -> None:
    agent = Scripted(still)
    played(agent, corridor_pool(), [cell(variant=2, phase=Phase.TRAIN)], Phase.TRAIN)
    assert agent.turns[1].rewards.tolist() == [1.0]


def test_rewards_are_withheld_where_the_spec_says_so() -> None:
    agent = Scripted(still)
    played(agent, corridor_pool(), [cell(variant=2)])
    assert all(np.isnan(turn.rewards).all() for turn in agent.turns)


@pytest.mark.parametrize("slots", [1, 3])
def test_what_an_agent_writes_into_what_it_sees_is_seen_by_nobody_else(slots: int) -> None:
    def scribble(turn: Any) -> Any:
        answer = still(turn)
        for array in (turn.rewards, *turn.observations.values()):
            array[...] = -100.0
        return answer

    wanted = [cell(variant=2) for _ in range(4)]
    assert played(Scripted(scribble), corridor_pool(slots), wanted) == played(
        Scripted(still), corridor_pool(slots), wanted
    )


# Actions out of bounds.


def test_a_clipped_action_is_counted_and_told_at_the_next_turn() -> None:
    agent = Scripted(lambda turn: [[2.0 if len(turn.starts) else 0.0]] * rows_of(turn))
    [row] = played(agent, corridor_pool(), [cell(variant=2)])
    flags = [turn.steps.flags.tolist() for turn in agent.turns]
    assert row.clipped == 1
    assert flags == [[], [ActionFlag.CLIPPED], [0], [0], [0], []]


# What comes next.


def test_free_slots_are_asked_in_their_order() -> None:
    asked: list[int] = []

    def nothing(slot: int) -> None:
        asked.append(slot)

    glue, _ = glue_of(Scripted(still), corridor_pool(3))
    assert list(glue.play(nothing, Phase.EVALUATE)) == []
    assert asked == [0, 1, 2]


def test_an_order_is_asked_for_after_the_outcome_was_handed_out() -> None:
    log: list[Any] = []
    orders = in_turn([cell(variant=0), cell(variant=0), cell(variant=0)])

    def next_order(slot: int) -> Order | None:
        order = orders(slot)
        log.append(("asked", slot, order.k if order else None))
        return order

    glue, _ = glue_of(Scripted(still), corridor_pool(2))
    log.extend(("outcome", row.order.k) for row in glue.play(next_order, Phase.EVALUATE))
    assert log[:6] == [
        ("asked", 0, 0),
        ("asked", 1, 1),
        ("outcome", 0),
        ("outcome", 1),
        ("asked", 0, 2),
        ("asked", 1, None),
    ]


def test_a_slot_that_got_no_order_is_asked_again() -> None:
    """A wave's slot may idle for a turn."""
    answers: list[Cell | None] = [cell(variant=2), None, cell(variant=0)]
    given = iter([None if each is None else Order(0, 0, each, 0) for each in answers])
    glue, _ = glue_of(Scripted(still), corridor_pool(2))
    rows = list(glue.play(lambda slot: next(given, None), Phase.EVALUATE))
    assert sorted(row.steps for row in rows) == [1, 5]


def test_a_glue_plays_again_after_it_has_played() -> None:
    glue, _ = glue_of(Follower(), corridor_pool(2))
    first = by_k(glue.play(in_turn(cells()), Phase.EVALUATE))
    assert by_k(glue.play(in_turn(cells()), Phase.EVALUATE)) == first


def test_every_step_that_was_simulated_is_counted() -> None:
    pool = corridor_pool(3)
    rows = played(Follower(), pool, cells())
    assert pool.executed == sum(row.steps for row in rows)


# Episodes that are given up.


def given_up(answer: Any) -> tuple[list[Outcome], Scripted, list[str]]:
    """Two episodes of five steps; slot 0's is given up by the first step's answer."""

    def turn(turn: Any) -> Actions:
        first = len(turn.steps) == 2 and 0 in turn.steps.slots
        arrays = answer(turn) if first else still(turn)
        return Actions({"action": arrays}, abandon=(0,) if first else ())

    agent = Scripted(turn)
    glue, port = glue_of(agent, corridor_pool(2))
    wanted = [cell(variant=2), cell(variant=2)]
    return by_k(glue.play(in_turn(wanted), Phase.EVALUATE)), agent, port.refusals


def test_an_abandoned_episode_counts_as_played_and_failed() -> None:
    rows, _, _ = given_up(still)
    assert [(row.status, row.success, row.steps) for row in rows] == [
        ("agent_abandoned", False, 1),
        ("ok", False, 5),
    ]


def test_no_end_follows_an_abandoned_episode() -> None:
    _, agent, _ = given_up(still)
    assert agent.ends == [(1, EndKind.TRUNCATED)]


def test_the_action_of_an_abandoned_episode_is_not_looked_at() -> None:
    def bad(turn: Any) -> Any:
        return np.array([[np.nan], [0.0]], np.float32)

    rows, _, refusals = given_up(bad)
    assert rows[0].status == "agent_abandoned"
    assert refusals == []


def test_only_slots_of_the_turn_can_be_given_up() -> None:
    """The answer is refused as a whole: an agent that names others does not know what it says."""
    agent = Scripted(lambda turn: Actions({"action": still(turn)}, abandon=(7,)))
    glue, port = glue_of(agent, corridor_pool(2))
    row, *_ = glue.play(in_turn([cell(), cell()]), Phase.EVALUATE)
    assert row.status == "agent_error"
    assert "got abandon (7,), wanted slots of this turn" in row.detail
    assert len(port.refusals) == 1


def test_a_success_of_an_abandoned_episode_does_not_count() -> None:
    """While adapting, success does not end an episode: there is time to give it up."""

    def turn(turn: Any) -> Actions:
        late = len(turn.steps) > 0 and turn.observations["observation"][0, 0] == 2
        return Actions({"action": still(turn)}, abandon=(0,) if late else ())

    wanted = [cell(variant=SOLVED["walk"].index(1), phase=Phase.ADAPT)]
    [row] = played(Scripted(turn), corridor_pool(), wanted, Phase.ADAPT)
    assert (row.status, row.success) == ("agent_abandoned", False)
