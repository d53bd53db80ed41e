"""A point among walls: multiworld's shapes, names and collisions."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

from env_adapters.determinism import check_determinism
from env_adapters.goals import HorizontalWall, Point2D, VerticalWall
from env_adapters.gymnasium import Gymnasium
from reglue.errors import BadArgument, UnknownName
from tests.env_adapters.goals.cases import CASES
from tests.error_facts import raises

WALKS = CASES["walks among walls, wall_thickness 0.5, action_scale 0.9"]
ACTIONS = [
    *[(0, 1)] * 4,
    *[(1, 1)] * 5,
    *[(-1, 0.2)] * 6,
    *[(-0.3, -1)] * 7,
    *[(1, 0)] * 9,
    *[(0.1, 1)] * 6,
]


@pytest.mark.parametrize("shape", WALKS)
def test_a_walk_is_stopped_where_multiworlds_is(shape: str) -> None:
    env = Point2D(
        walls=shape,
        wall_thickness=0.5,
        action_scale=0.9,
        randomize_position_on_reset=False,
        fixed_init_position=(0, -3.5),
    )
    env.reset(seed=0)
    walked = [env.step(action)[0]["observation"].tolist() for action in ACTIONS]
    assert walked == WALKS[shape]
    assert walked != [at.tolist() for at in straight()]


def straight() -> list[Any]:
    """The same walk without walls."""
    env = Point2D(
        action_scale=0.9, randomize_position_on_reset=False, fixed_init_position=(0, -3.5)
    )
    env.reset(seed=0)
    return [env.step(action)[0]["observation"] for action in ACTIONS]


SIDES: list[Any] = [
    {"x_pos": 1, "bottom_y": -1, "top_y": 1},
    {"x_pos": -1, "bottom_y": -1, "top_y": 1, "thickness": 0},
    {"y_pos": 1, "left_x": -1, "right_x": 1, "min_dist": 0.5},
]


@pytest.mark.parametrize(
    "walls",
    [
        "u",
        SIDES,
        [VerticalWall(0.5, 1, -1, 1), VerticalWall(0.5, -1, -1, 1), HorizontalWall(0.5, 1, -1, 1)],
    ],
    ids=["by name", "as JSON", "as multiworld's objects"],
)
def test_walls_are_said_in_three_ways(walls: Any) -> None:
    env = Point2D(walls=walls, randomize_position_on_reset=False, fixed_goal=(0, 3))
    env.reset(seed=0)
    for _ in range(9):
        seen = env.step((0.3, 1))[0]["observation"]
    assert seen.tolist() == [0.49, 0.49]  # in the corner, a radius and a hundredth from both


def test_no_drawn_goal_and_no_start_is_in_a_wall() -> None:
    env = Point2D(walls="box", wall_thickness=2.0)
    goals = env.sample_goals(300)["desired_goal"]
    starts = np.array([env.reset(seed=seed)[0]["observation"] for seed in range(50)])
    for places in (goals, starts):
        assert (np.abs(places).max(axis=1) >= 2.5).all()
        assert (np.abs(places) <= 4).all()


def test_the_shape_none_is_no_walls() -> None:
    wanted = Point2D().reset(seed=5)[0]
    got = Point2D(walls="none").reset(seed=5)[0]
    assert {name: each.tolist() for name, each in got.items()} == {
        name: each.tolist() for name, each in wanted.items()
    }


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"walls": 3}, "walls 3"),
        ({"walls": [{"x_pos": 1}]}, "{'x_pos': 1}"),
        ({"walls": [[1, 2, 3]]}, "[1, 2, 3]"),
        ({"walls": [SIDES[0] | {"x_pos": "1"}]}, "end '1'"),
        ({"walls": [SIDES[0] | {"thickness": -1}]}, "thickness -1"),
        ({"walls": [SIDES[0] | {"top_y": -2}]}, "from (1, -1) to (1, -2)"),
        ({"walls": "box", "wall_thickness": 4.0}, "walls 'box'"),
        ({"walls": "box", "randomize_position_on_reset": False}, "fixed_init_position [0.0, 0.0]"),
        ({"fixed_init_position": (9, 9)}, "goal"),
        ({"ball_radius": 0}, "ball_radius 0"),
        ({"walls": "u", "inner_wall_max_dist": -1}, "inner_wall_max_dist -1"),
    ],
)
def test_walls_that_cannot_be_are_refused(options: dict[str, Any], named: str) -> None:
    with raises(BadArgument, named):
        Point2D(**options)


def test_an_unknown_shape_of_walls_lists_the_near_ones() -> None:
    with raises(UnknownName, "big-u", got="big_u"):
        Point2D(walls="big_u")


@pytest.mark.parametrize("size", [6, 84])
def test_walls_are_drawn(size: int) -> None:
    env = Point2D(walls="--", fixed_goal=(0, 3))
    env.reset(seed=0)
    black = (env.get_image(size, (0, 3)) == 0).all(-1)
    rows, columns = np.nonzero(black)
    assert len(rows)
    assert np.abs(rows - (size - 1) / 2).max() <= 1  # at y = 0, from x = -1 to 1
    assert np.abs(columns - (size - 1) / 2).max() <= size / 9 + 1


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("Reglue/Point2D-v0", {"walls": "u"}),
        ("Reglue/Point2D-v0", {"walls": SIDES}),
        ("Reglue/Point2D-Box-Wall-v1", {}),
        ("Reglue/Point2D-Big-UWall-v1", {}),
        ("Reglue/Point2D-Easy-UWall-v1", {}),
        ("Reglue/Point2D-FlatWall-v2", {}),
    ],
)
def test_benchmarks_play_them_and_keep_them_to_the_bit(name: str, options: dict[str, Any]) -> None:
    check_determinism(Gymnasium(name, **options), episodes=2, steps=20)
    check_env(gymnasium.make(name, **options).unwrapped, skip_render_check=True)
