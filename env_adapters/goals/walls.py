"""Walls of Point2D, with multiworld's names, sizes and collisions.

A wall is a box that keeps the point's centre out: it extends beyond the drawn wall by
`min_dist`, the point's radius. Lengths are in the square's unit.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from env_adapters.argument_checks import check_number
from reglue.errors import BadArgument, UnknownName
from reglue.spec import Array

_OFF = 0.01
"""A point that moves into a wall stops at this distance from it."""


@dataclass(frozen=True, slots=True)
class Wall:
    """The box that keeps centres out; the drawn wall is smaller by `min_dist` on each side."""

    min_x: float
    max_x: float
    min_y: float
    max_y: float
    min_dist: float

    def contains_point(self, point: Any) -> bool:
        """Whether a point's centre is inside the box; its edge is outside."""
        x, y = point
        return bool(self.min_x < x < self.max_x and self.min_y < y < self.max_y)

    def handle_collision(self, start_point: Any, end_point: Any) -> Array:
        """The point where a movement from `start_point` to `end_point` stops, (2,).

        A side stops a point that comes from outside, if the bounding box of the motion touches it.
        """
        start, end = np.asarray(start_point, np.float64), np.array(end_point, np.float64)
        low, high = np.minimum(start, end), np.maximum(start, end)
        over = low[0] <= self.max_x and high[0] >= self.min_x  # motion and box overlap in x
        beside = low[1] <= self.max_y and high[1] >= self.min_y
        if over and low[1] <= self.max_y <= high[1] and end[1] <= start[1] >= self.max_y:
            end[1] = self.max_y + _OFF
        if over and low[1] <= self.min_y <= high[1] and end[1] >= start[1] <= self.min_y:
            end[1] = self.min_y - _OFF
        if beside and low[0] <= self.max_x <= high[0] and end[0] <= start[0] >= self.max_x:
            end[0] = self.max_x + _OFF
        if beside and low[0] <= self.min_x <= high[0] and end[0] >= start[0] <= self.min_x:
            end[0] = self.min_x - _OFF
        return end


def VerticalWall(  # noqa: N802 - multiworld's name, and its arguments
    min_dist: float, x_pos: float, bottom_y: float, top_y: float, thickness: float = 0.0
) -> Wall:
    """A wall from `bottom_y` to `top_y`, `thickness` more on each side. Raises UsageError."""
    return _wall((x_pos, bottom_y), (x_pos, top_y), min_dist, thickness)


def HorizontalWall(  # noqa: N802
    min_dist: float, y_pos: float, left_x: float, right_x: float, thickness: float = 0.0
) -> Wall:
    """A wall from `left_x` to `right_x`, `thickness` more on each side. Raises UsageError."""
    return _wall((left_x, y_pos), (right_x, y_pos), min_dist, thickness)


def _wall(
    low: tuple[float, float], high: tuple[float, float], min_dist: float, thickness: float
) -> Wall:
    for name, number in (("min_dist", min_dist), ("thickness", thickness)):
        check_number(name, number)
        if number < 0:
            raise BadArgument(got=f"{name} {number}", wanted="0 or more")
    for at in (*low, *high):
        check_number("a wall's end", at)
    if low > high:
        raise BadArgument(got=f"a wall from {low} to {high}", wanted="the lower end first")
    return Wall(
        min_x=low[0] - min_dist - thickness,
        max_x=high[0] + min_dist + thickness,
        min_y=low[1] - min_dist - thickness,
        max_y=high[1] + min_dist + thickness,
        min_dist=min_dist,
    )


# By multiworld's names, in units of `inner_wall_max_dist`: ("v", x, bottom, top) or
# ("h", y, left, right), and whether the wall has the given thickness.
_SHAPES: Mapping[str, Sequence[tuple[str, float, float, float, bool]]] = {
    "none": (),
    "u": (("v", 1, -1, 1, False), ("v", -1, -1, 1, False), ("h", 1, -1, 1, False)),
    "-": (("h", 1, -1, 1, False),),
    "h": (("h", 1, -1, 1, False),),
    "--": (("h", 0, -1, 1, False),),
    "---": (("h", 0, -2, 2, True),),
    "big-u": (("v", 2, -2, 1, True), ("v", -2, -2, 1, True), ("h", 1, -2, 2, True)),
    "easy-u": (("v", 2, -0.5, 1, True), ("v", -2, -0.5, 1, True), ("h", 1, -2, 2, True)),
    "big-h": (("h", 1, -2, 2, False),),
    "box": (("v", 0, 0, 0, True),),
}


def walls_of(walls: Any, ball_radius: float, thickness: float, unit: float) -> tuple[Wall, ...]:
    """The walls of `walls`, which is the name of a shape or a list of walls.

    A list holds Walls, or dicts of the arguments of VerticalWall or HorizontalWall, where
    `min_dist` is `ball_radius` by default. `thickness` and `unit` are for shapes. Raises
    UsageError.
    """
    if walls is None or walls == "":
        return ()
    if isinstance(walls, str):
        if walls not in _SHAPES:
            raise UnknownName("shape of walls", walls, _SHAPES)
        return tuple(
            (VerticalWall if kind == "v" else HorizontalWall)(
                ball_radius, at * unit, start * unit, end * unit, thickness if thick else 0.0
            )
            for kind, at, start, end, thick in _SHAPES[walls]
        )
    if not isinstance(walls, Sequence):
        raise BadArgument(got=f"walls {walls!r}", wanted="the name of a shape or a list of walls")
    return tuple(each if isinstance(each, Wall) else _read(each, ball_radius) for each in walls)


def _read(wall: Any, ball_radius: float) -> Wall:
    if isinstance(wall, Mapping):
        for make, needed in (
            (VerticalWall, {"x_pos", "bottom_y", "top_y"}),
            (HorizontalWall, {"y_pos", "left_x", "right_x"}),
        ):
            if needed <= set(wall) <= needed | {"thickness", "min_dist"}:
                return make(**{"min_dist": ball_radius, **wall})
    raise BadArgument(
        got=f"the wall {wall!r}",
        wanted=(
            "a table with x_pos, bottom_y, top_y or with y_pos, left_x, right_x, and "
            "optionally thickness and min_dist"
        ),
    )


def free_share(walls: Sequence[Wall], boundary: float) -> float:
    """The share of the square within ±`boundary` that is free of walls, 0 to 1."""
    x = _edges([at for each in walls for at in (each.min_x, each.max_x)], boundary)
    y = _edges([at for each in walls for at in (each.min_y, each.max_y)], boundary)
    free = sum(
        float((x[i + 1] - x[i]) * (y[j + 1] - y[j]))
        for i in range(len(x) - 1)
        for j in range(len(y) - 1)
        if not any(
            each.contains_point(((x[i] + x[i + 1]) / 2, (y[j] + y[j + 1]) / 2)) for each in walls
        )
    )
    return free / (2 * boundary) ** 2


def _edges(of_walls: Sequence[float], boundary: float) -> Array:
    return np.unique(np.clip([-boundary, *of_walls, boundary], -boundary, boundary))
