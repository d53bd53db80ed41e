"""What is where: moving bodies, standing walls, and when they touch."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TypeAlias

Rect: TypeAlias = tuple[float, float, float, float]
"""Left, top, right and bottom, in sides of the screen, y downwards."""

TOP, BOTTOM = 0.07, 0.93
"""Where the bars above and below begin."""

WALL = 0.03
"""How thick the walls are."""

STAND = 0.88
"""What the player stands on at first."""

SHOT_WIDTH, SHOT_HEIGHT = 0.02, 0.04
"""Of all shots."""


@dataclass(slots=True)
class Body:
    """A rectangle that moves, and may be out of play."""

    x: float  # of its left side
    y: float  # of its top
    w: float
    h: float
    vx: float = 0.0  # sides of the screen a part of a tick
    vy: float = 0.0
    alive: bool = True

    @property
    def rect(self) -> Rect:
        """Where it is."""
        return self.x, self.y, self.x + self.w, self.y + self.h


def touch(one: Rect, other: Rect) -> bool:
    """Whether they overlap; sides that only meet do not."""
    return one[0] < other[2] and other[0] < one[2] and one[1] < other[3] and other[1] < one[3]


def blocked(rect: Rect, walls: Iterable[Rect]) -> bool:
    """Whether it touches a wall."""
    left, top, right, bottom = rect
    for wall in walls:
        if wall[1] < bottom and top < wall[3] and wall[0] < right and left < wall[2]:
            return True
    return False


def touched(rect: Rect, bodies: Iterable[Body]) -> list[Body]:
    """Those in play that it touches."""
    left, top, right, bottom = rect
    return [
        body
        for body in bodies
        if body.y < bottom
        and top < body.y + body.h
        and body.x < right
        and left < body.x + body.w
        and body.alive
    ]
