"""The bodies and walls of an episode, when they touch, and how finely time is divided."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TypeAlias

from env_adapters.arcade.sections import Game

Rect: TypeAlias = tuple[float, float, float, float]
"""Left, top, right and bottom, in sides of the screen, y downwards."""

TOP, BOTTOM = 0.07, 0.93
"""Where the bars above and below begin."""

WALL = 0.03
"""How thick the walls are."""

STAND = 0.88
"""Lower edge of the player at the start."""

SHOT_WIDTH, SHOT_HEIGHT = 0.02, 0.04
"""Size of every shot."""


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
        """Left, top, right and bottom."""
        return self.x, self.y, self.x + self.w, self.y + self.h


def touch(one: Rect, other: Rect) -> bool:
    """Whether they overlap; sides that only meet do not count."""
    return one[0] < other[2] and other[0] < one[2] and one[1] < other[3] and other[1] < one[3]


def blocked(rect: Rect, walls: Iterable[Rect]) -> bool:
    """Whether it touches a wall."""
    left, top, right, bottom = rect
    for wall in walls:
        if wall[1] < bottom and top < wall[3] and wall[0] < right and left < wall[2]:
            return True
    return False


def touched(rect: Rect, bodies: Iterable[Body]) -> list[Body]:
    """The bodies in play that `rect` touches."""
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


TICKS = 2
"""Ticks in a step. Speeds in a config are sides of the screen a tick."""


def parts_of_a_tick(game: Game) -> int:
    """1, or more if the player, a ball or a shot could jump over another thing in one tick."""
    elements, player, ball = game.game_elements, game.player_settings, game.ball_settings
    opponent = game.opponent_settings.speed if elements.opponent else 0.0
    moving = elements.blocks and game.blocks_settings.static_weave_fall != "static"
    blocks = game.blocks_settings.speed if moving else 0.0
    ways = [(player.speed + blocks) / min(player.width, player.height)]
    if elements.ball:
        ways.append((ball.speed + max(player.speed, opponent, blocks)) / ball.size)
    if game.actions.fire or (elements.opponent and game.opponent_settings.can_shoot):
        ways.append(max(player.speed, opponent, blocks) / SHOT_WIDTH)
    return max(1, math.ceil(max(ways)))


Events: TypeAlias = tuple[float, ...]
"""The points of each thing that happened."""


@dataclass(slots=True)
class Scene:
    """A game's bodies and walls. An absent opponent and an unfired shot are out of play."""

    game: Game
    walls: list[Rect]  # barriers and maze, without the edges
    player: Body
    opponent: Body
    shot: Body  # the player's
    return_shot: Body  # the opponent's
    balls: list[Body]
    blocks: list[Body]
    edges: Rect = field(init=False)  # bodies stay within; infinite where there is no wall
    worth: float = field(init=False)  # points for a block
    parts: int = field(init=False)  # of a tick

    def __post_init__(self) -> None:
        elements, points = self.game.game_elements, self.game.blocks_settings.points
        self.edges = (
            WALL,
            TOP + WALL if elements.top_wall else -math.inf,
            1.0 - WALL,
            BOTTOM - WALL if elements.bottom_wall else math.inf,
        )
        divided = 100.0 / max(1, len(self.blocks))
        self.worth = divided if isinstance(points, str) else points
        self.parts = parts_of_a_tick(self.game)

    @property
    def bodies(self) -> list[Body]:
        """All bodies, in a fixed order."""
        one_each = (self.player, self.opponent, self.shot, self.return_shot)
        return [*one_each, *self.balls, *self.blocks]
