"""The windy gridworld against example 6.5 and exercises 6.9 and 6.10."""

from __future__ import annotations

from collections import Counter

import pytest

from env_adapters.classic.gridworld import COLUMNS, GOAL, START, GridWorld, Place
from reglue.rng import Rng
from tests.env_adapters.classic.classic_playing import cell_of, play

UP, DOWN, RIGHT, LEFT = range(4)


def shortest_way(rules: GridWorld) -> int:
    """Steps to the goal, found by visiting all cells, nearest first."""
    reached, edge, steps = {START}, {START}, 0
    while GOAL not in reached:
        steps += 1
        actions = range(len(rules.moves))
        edge = {rules.move(at, action, Rng(0)).state for at in edge for action in actions}
        edge -= reached
        reached |= edge
    return steps


@pytest.mark.parametrize(("kings_moves", "steps"), [(False, 15), (True, 7)])
def test_the_shortest_way_is_the_books(kings_moves: bool, steps: int) -> None:
    assert shortest_way(GridWorld(kings_moves=kings_moves)) == steps


def test_the_books_trajectory_ends_at_the_goal() -> None:
    """Page 130: nine to the right, four down, two to the left."""
    player = GridWorld().world()
    player.start(cell_of("gridworld"))
    bits = play(player, [RIGHT] * 9 + [DOWN] * 4 + [LEFT] * 2)
    assert [step[1:] for step in bits] == [(-1.0, False, False, False)] * 14 + [
        (-1.0, True, False, True)
    ]


@pytest.mark.parametrize(
    ("place", "action", "then"),
    [
        (Place(3, 2), RIGHT, Place(3, 3)),  # the wind of the column that one leaves
        (Place(3, 3), RIGHT, Place(2, 4)),
        (Place(4, 6), DOWN, Place(3, 6)),
        (Place(4, 6), LEFT, Place(2, 5)),
        (Place(0, 7), UP, Place(0, 7)),
        (Place(6, 0), DOWN, Place(6, 0)),
        (Place(6, 0), LEFT, Place(6, 0)),
        (Place(6, 9), RIGHT, Place(6, 9)),
    ],
)
def test_a_move_is_blown_upwards_and_stays_on_the_grid(
    place: Place, action: int, then: Place
) -> None:
    assert GridWorld().move(place, action, Rng(0)).state == then


def test_the_observation_is_the_number_of_the_cell() -> None:
    seen = GridWorld().world().start(cell_of("gridworld"))["observation"]
    assert seen == 3 * COLUMNS


def test_stochastic_wind_blows_a_cell_more_or_less_in_a_third_of_the_steps_each() -> None:
    rules, rng = GridWorld(stochastic_wind=True), Rng(1)
    rows = Counter(rules.move(Place(4, 6), LEFT, rng).state.row for _ in range(3000))
    assert rows.keys() == {1, 2, 3}
    assert all(900 < count < 1100 for count in rows.values())


def test_where_no_wind_blows_it_is_not_stochastic() -> None:
    rules, rng = GridWorld(stochastic_wind=True), Rng(1)
    assert {rules.move(Place(4, 0), UP, rng).state for _ in range(100)} == {Place(3, 0)}
