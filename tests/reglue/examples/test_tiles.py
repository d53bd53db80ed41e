"""Features of observations: tiles over bounds, a place for every integer."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reglue.errors import NotAnAgent
from reglue.examples.tiles import Bounds, Features, features
from reglue.spec import Box, Discrete, MultiBinary, MultiDiscrete, TensorSpec
from tests.error_facts import raises

CAR = TensorSpec("observation", "float64", (2,), Box((-1.2, -0.07), (0.5, 0.07)))


def tiled(tensor: TensorSpec = CAR, bounds: Bounds | None = None, **sizes: int) -> Features:
    return features(tensor, **{"tilings": 8, "tiles": 8} | sizes, bounds=bounds)


def inside(fractions: tuple[float, ...]) -> list[float]:
    """The point at these fractions of the car's bounds."""
    low, high = CAR.low(), CAR.high()
    point: list[float] = (low + (high - low) * np.array(fractions)).tolist()
    return point


fraction = st.integers(0, 6400).map(lambda n: (n + 0.5) / 6401)  # off the edges of tiles


@given(st.tuples(fraction, fraction), st.tuples(fraction, fraction))
def test_two_points_share_the_tiles_that_the_books_offsets_say(
    one: tuple[float, float], two: tuple[float, float]
) -> None:
    """Of 8 tilings, tiling t is moved by t/8 and 3t/8 of a tile (page 220)."""

    def cells(point: tuple[float, float]) -> list[list[int]]:
        return [
            [math.floor(8 * at + t * odd / 8) for at, odd in zip(point, (1, 3), strict=True)]
            for t in range(8)
        ]

    shared = [a == b for a, b in zip(cells(one), cells(two), strict=True)]
    first, second = (tiled().active(inside(point)) for point in (one, two))
    assert [a == b for a, b in zip(first, second, strict=True)] == shared


def test_tiles_of_different_tilings_are_never_the_same() -> None:
    points = itertools.product(np.linspace(0, 1, 41), repeat=2)
    active = np.array([tiled().active(inside(point)) for point in points])
    for one, two in itertools.combinations(active.T, 2):
        assert not set(one) & set(two)


def test_every_grid_has_one_cell_more_to_a_side_than_it_covers() -> None:
    points = itertools.product(np.linspace(0, 1, 201), repeat=2)
    active = np.array([tiled(tilings=4, tiles=3).active(inside(point)) for point in points])
    assert [len(set(column)) for column in active.T] == [9 + 7, 16, 16, 16]
    assert (active.min(), active.max()) == (0, 4 * 16 - 1)


@pytest.mark.parametrize("beyond", [(-0.5, 0.3), (1.5, 0.3), (0.2, -9.0), (0.2, 9.0)])
def test_a_point_out_of_bounds_counts_as_on_them(beyond: tuple[float, float]) -> None:
    within = tuple(min(max(each, 0.0), 1.0) for each in beyond)
    assert tiled().active(inside(beyond)) == tiled().active(inside(within))


def test_bounds_can_be_given() -> None:
    free = TensorSpec("observation", "float64", (2,))
    given_ = tiled(free, bounds=[[-1.2, 0.5], [-0.07, 0.07]])
    for point in itertools.product((0.1, 0.5, 0.9), repeat=2):
        assert given_.active(inside(point)) == tiled().active(inside(point))


def test_every_combination_of_whole_numbers_is_a_feature_of_its_own() -> None:
    table = tiled(TensorSpec("observation", "int64", (2,), MultiDiscrete((11, 4))))
    seen = [table.active(numbers) for numbers in itertools.product(range(11), range(4))]
    assert sorted(seen) == [[place] for place in range(44)]
    assert table.count == 1


def test_a_discrete_number_counts_from_its_start() -> None:
    table = tiled(TensorSpec("observation", "int64", (), Discrete(3, start=-1)))
    assert [table.active([number]) for number in (-1, 0, 1)] == [[0], [1], [2]]


@pytest.mark.parametrize(
    ("tensor", "bounds", "named"),
    [
        (TensorSpec("arm", "float64", (2,)), None, ["arm", "-inf to inf", "bounds"]),
        (
            TensorSpec("arm", "float64", (1,), Box((0.0,), ())),
            None,
            ["arm", "0.0 to inf", "bounds"],
        ),
        (CAR, [[0.0, 1.0]], ["observation", "1 numbers", 2]),
        (CAR, [[0.0, 1.0], [2.0, 2.0]], ["observation", "2.0 to 2.0"]),
        (TensorSpec("arm", "uint8", (2,), MultiBinary()), None, ["arm", "MultiBinary()", "Box"]),
    ],
)
def test_what_has_no_tiles_is_refused(tensor: TensorSpec, bounds: Any, named: list[Any]) -> None:
    with raises(NotAnAgent, *named):
        tiled(tensor, bounds)
