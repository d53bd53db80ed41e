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
from reglue.errors import UnknownName, UsageError
from tests.env_adapters.goals.cases import CASES

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
    ("options", "words"),
    [
        ({"walls": "big_u"}, "did you mean big-u"),
        ({"walls": 3}, "got walls 3, wanted the name of a shape or a list"),
        ({"walls": [{"x_pos": 1}]}, "wanted a table with x_pos, bottom_y, top_y or"),
        ({"walls": [[1, 2, 3]]}, "wanted a table with"),
        ({"walls": [SIDES[0] | {"x_pos": "1"}]}, "got a wall's end '1'"),
        ({"walls": [SIDES[0] | {"thickness": -1}]}, "got thickness -1, wanted 0 or more"),
        ({"walls": [SIDES[0] | {"top_y": -2}]}, "wanted the lower end first"),
        ({"walls": "box", "wall_thickness": 4.0}, "which fill the square"),
        ({"walls": "box", "randomize_position_on_reset": False}, r"\[0.0, 0.0\], which is in a"),
        ({"fixed_init_position": (9, 9)}, "got the goal"),
        ({"ball_radius": 0}, "got ball_radius 0"),
        ({"walls": "u", "inner_wall_max_dist": -1}, "got inner_wall_max_dist -1"),
    ],
)
def test_walls_that_cannot_be_are_refused(options: dict[str, Any], words: str) -> None:
    with pytest.raises((UsageError, UnknownName), match=words):
        Point2D(**options)


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
