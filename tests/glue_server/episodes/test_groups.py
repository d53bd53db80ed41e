"""Groups of slots: the agent thinks about one while environments step others."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product
from typing import Any

import pytest

from env_adapters import SuiteName
from glue_server import NextOrder, Order, Outcome
from reglue import Phase
from reglue.errors import AgentFault
from tests.error_facts import raises
from tests.glue_server.playing import (
    SOLVED,
    Follower,
    Partial,
    Scripted,
    by_k,
    cell,
    cells,
    corridor_pool,
    glue_of,
    in_turn,
    in_workers,
    played,
    still,
)

JUDGED = [Phase.ADAPT, Phase.EVALUATE]
CORRIDOR = SuiteName("tests.worlds:Corridor", {"solved": SOLVED})


class PartlyScripted(Scripted):
    partial_turns = True


def slots_of(turn: Any) -> list[list[int]]:
    return [part.slots.tolist() for part in (turn.ends, turn.steps, turn.starts)]


def turns_of(agent: Scripted, wanted: Sequence[Any], slots: int, phase: Phase) -> Any:
    played(agent, corridor_pool(slots), wanted, phase)
    return [slots_of(turn) for turn in agent.turns]


def test_each_half_of_the_slots_has_turns_of_its_own() -> None:
    """An episode begins in the turn after the one that ended its slot's last."""
    wanted = [cell(variant=0)] * 4 + [cell(variant=1)]
    turns = turns_of(PartlyScripted(still), wanted, 3, Phase.EVALUATE)
    assert turns == [
        [[], [], [0]],
        [[], [], [1, 2]],
        [[0], [], []],
        [[1, 2], [], []],
        [[], [], [0]],
        [[], [], [1]],
        [[0], [], []],
        [[], [1], []],
        [[], [1], []],
        [[1], [], []],
    ]


def test_halves_take_turns_while_adapting_too() -> None:
    """Success ends no episode here, so that both play their five steps."""
    wanted = [cell(variant=0, phase=Phase.ADAPT)] * 3
    turns = turns_of(PartlyScripted(still), wanted, 3, Phase.ADAPT)
    going_on = [[[], [0], []], [[], [1, 2], []]] * 4
    assert turns == [[[], [], [0]], [[], [], [1, 2]], *going_on, [[0], [], []], [[1, 2], [], []]]


def test_turns_are_whole_in_training() -> None:
    """An agent that learns from every turn would learn something else from two halves."""
    wanted = [cell(variant=0, phase=Phase.TRAIN)] * 4
    turns = turns_of(PartlyScripted(still), wanted, 4, Phase.TRAIN)
    assert turns[0] == [[], [], [0, 1, 2, 3]]


def test_turns_are_whole_for_an_agent_that_wants_them_so() -> None:
    assert turns_of(Scripted(still), cells(2), 4, Phase.EVALUATE)[0] == [[], [], [0, 1, 2, 3]]


@pytest.mark.parametrize(
    ("slots", "groups"),
    [(1, [1]), (5, [2, 3]), (60, [30, 30]), (80, [26, 27, 27]), (200, [66, 67, 67])],
)
def test_groups_are_few_and_large(slots: int, groups: list[int]) -> None:
    wanted = [cell(variant=0)] * slots
    turns = turns_of(PartlyScripted(still), wanted, slots, Phase.EVALUATE)
    assert [len(starts) for _, _, starts in turns if starts] == groups


@pytest.mark.parametrize(
    ("slots", "long", "turns"),
    [(80, 8, 6 + 4), (80, 9, 6 + 4 * 3), (4, 2, 4 + 4), (4, 3, 4 + 4 * 2)],
)
def test_groups_join_when_few_slots_are_left(slots: int, long: int, turns: int) -> None:
    """At most 8, and half of all: one turn is about all of them, in place of one a group.

    Each group begins and takes a step, in which the short episodes end, and the long ones take four
    more.
    """
    wanted = [cell(variant=2 if is_long else 0) for is_long in spread(slots, long)]
    agent = PartlyScripted(still)
    rows = played(agent, corridor_pool(slots), wanted)
    assert sorted(row.steps for row in rows) == [1] * (slots - long) + [5] * long
    assert len(agent.turns) == turns
    assert len(agent.ends) == slots


def test_an_episode_that_ends_as_groups_join_is_told_of() -> None:
    """Slot 1 ends in the step that was under way while slot 3 waited for the agent."""
    wanted = [cell(variant=variant) for variant in (0, 4, 0, 2)]
    turns = turns_of(PartlyScripted(still), wanted, 4, Phase.EVALUATE)
    assert turns == [
        [[], [], [0, 1]],
        [[], [], [2, 3]],
        [[0], [1], []],
        [[2], [3], []],
        [[1], [3], []],
        [[], [3], []],
        [[], [3], []],
        [[3], [], []],
    ]


@pytest.mark.parametrize("slots", [2, 3, 4])
def test_an_episode_that_is_cut_off_as_groups_join_leaves_its_slot_to_the_next(slots: int) -> None:
    """That is no end to the agent, so nothing else is under way then."""
    for variants in product((0, 2), repeat=slots + 2):
        glue, _ = glue_of(PartlyScripted(still), corridor_pool(slots))
        assert len(list(glue.play(cut_off(variants), Phase.EVALUATE))) == len(variants), variants


def cut_off(variants: Sequence[int]) -> NextOrder:
    """An episode of each variant, of three steps at most."""
    given = iter([Order(0, k, cell(variant=v), 7, max_steps=3) for k, v in enumerate(variants)])
    return lambda slot: next(given, None)


def spread(slots: int, long: int) -> list[bool]:
    """Flags of the slots that play long episodes: some in each group."""
    places = {slots * each // long for each in range(long)}
    return [slot in places for slot in range(slots)]


@pytest.mark.parametrize("phase", JUDGED)
@pytest.mark.parametrize("slots", [1, 2, 5, 30, 80])
def test_rows_are_those_of_one_slot(slots: int, phase: Phase) -> None:
    alone = played(Follower(), corridor_pool(1), cells(), phase)
    assert played(Partial(), corridor_pool(slots), cells(), phase) == alone


@pytest.mark.parametrize(("slots", "workers"), [(2, 2), (5, 1), (5, 3), (110, 2)])
def test_rows_are_those_of_one_slot_from_workers_too(slots: int, workers: int) -> None:
    pool, _ = in_workers(CORRIDOR, slots, workers=workers)
    try:
        for phase in JUDGED:
            alone = played(Follower(), corridor_pool(1), cells(), phase)
            assert played(Partial(), pool, cells(), phase) == alone
    finally:
        pool.close()


def test_when_the_agent_is_lost_all_episodes_are_and_the_pool_is_of_use() -> None:
    class Lost(PartlyScripted):
        def turn(self, turn: Any) -> Any:
            if len(self.turns) == 4:
                raise OSError("gone")
            return super().turn(turn)

    pool, _ = in_workers(CORRIDOR, 4, workers=2)
    try:
        glue, _ = glue_of(Lost(still), pool)
        rows: list[Outcome] = []
        with raises(AgentFault, "OSError: gone"):
            keep_all(glue.play(in_turn([cell(variant=2)] * 9), Phase.EVALUATE), rows)
        assert [row.status for row in rows] == ["agent_error"] * 4
        alone = played(Follower(), corridor_pool(1), cells())
        assert played(Partial(), pool, cells()) == alone
    finally:
        pool.close()


def keep_all(outcomes: Iterator[Outcome], rows: list[Outcome]) -> None:
    """Also those that came before an error."""
    for outcome in outcomes:
        rows.append(outcome)  # noqa: PERF402


def test_an_environment_that_fails_at_its_start_frees_the_slot() -> None:
    """In either group; the cells that come next are played."""
    wanted = [cell(variant=9), cell(variant=9), cell(variant=0), cell(variant=0)]
    glue, _ = glue_of(Partial(), corridor_pool(2))
    rows = by_k(glue.play(in_turn(wanted), Phase.EVALUATE))
    assert [row.status for row in rows] == ["environment_error"] * 2 + ["ok"] * 2
