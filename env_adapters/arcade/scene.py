"""The bodies and walls of an episode: how an episode begins, and when bodies touch.

Random numbers come from `Generator.random` alone: its bits are the same on every platform, while
NumPy may change its other distributions.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby, pairwise
from typing import TypeAlias

import numpy as np

from env_adapters.arcade.sections import (
    BallSettings,
    BlocksSettings,
    Game,
    GridSettings,
    MazeSettings,
)

Rect: TypeAlias = tuple[float, float, float, float]
"""Left, top, right and bottom, in sides of the screen, y downwards."""

TOP, BOTTOM = 0.07, 0.93
"""The edges of the bars above and below."""

WALL = 0.03
"""The thickness of the walls."""

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


def inactive_shot() -> Body:
    """A shot that is out of play."""
    return Body(0.0, 0.0, SHOT_WIDTH, SHOT_HEIGHT, alive=False)


def touch(one: Rect, other: Rect) -> bool:
    """Whether two rectangles overlap; sides that only meet do not count."""
    return one[0] < other[2] and other[0] < one[2] and one[1] < other[3] and other[1] < one[3]


def blocked(rect: Rect, walls: Iterable[Rect]) -> bool:
    """Whether `rect` touches a wall."""
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
    """A game's bodies and walls. An absent opponent, and a shot that was not fired, are out of
    play.
    """

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


def lay_out(game: Game, rng: np.random.Generator) -> Scene:
    """The scene with which an episode begins: the config's bodies and walls, some at random."""
    elements, player, rival = game.game_elements, game.player_settings, game.opponent_settings
    parts = parts_of_a_tick(game)
    walls = []
    if elements.static_barriers:
        walls += [rect for _, rect in _grid(game.static_barrier_settings, rng)]
    if elements.maze:
        walls += maze_walls(game.maze_settings, rng)
    return Scene(
        game=game,
        walls=walls,
        player=Body(0.5 - player.width / 2, STAND - player.height, player.width, player.height),
        opponent=Body(
            0.5 - rival.width / 2, 0.12, rival.width, rival.height, alive=elements.opponent
        ),
        shot=inactive_shot(),
        return_shot=inactive_shot(),
        balls=_balls(game.ball_settings, parts, rng) if elements.ball else [],
        blocks=list(_blocks(game.blocks_settings, parts, rng)) if elements.blocks else [],
    )


def _balls(settings: BallSettings, parts: int, rng: np.random.Generator) -> list[Body]:
    """One ball in the middle, more above it, all moving down at 46 to 74 degrees."""
    size, speed = settings.size, settings.speed / parts
    lean = 0.27 + 0.43 * rng.random()
    vx = speed * (lean if rng.random() < 0.5 else -lean)
    vy = speed * math.sqrt(1.0 - lean * lean)
    middle = 0.5 - size / 2
    return [
        Body(middle, middle - 0.15 * above, size, size, vx, vy)
        for above in range(settings.num_balls)
    ]


def _blocks(settings: BlocksSettings, parts: int, rng: np.random.Generator) -> Iterator[Body]:
    kind, speed = settings.static_weave_fall, settings.speed / parts
    for row, (left, top, right, bottom) in _grid(settings, rng):
        vx = (speed if row % 2 == 0 else -speed) if kind == "weave" else 0.0
        vy = speed if kind == "fall" else 0.0
        yield Body(left, top, right - left, bottom - top, vx, vy)


def _grid(settings: GridSettings, rng: np.random.Generator) -> Iterator[tuple[int, Rect]]:
    """Row and rectangle of each cell of the grid that is filled."""
    x, y, width, height = settings.creation_area
    w, h = width / settings.cols, height / settings.rows
    margin_x, margin_y = w * settings.spacing / 2, h * settings.spacing / 2
    filled = [_filled_columns(settings, rng) for _ in range(settings.rows)]
    path = _path(settings, rng) if settings.clear_path else frozenset()
    for row, columns in enumerate(filled):
        top, bottom = y + row * h + margin_y, y + (row + 1) * h - margin_y
        for col in columns:
            if (row, col) not in path:
                yield row, (x + col * w + margin_x, top, x + (col + 1) * w - margin_x, bottom)


def _filled_columns(settings: GridSettings, rng: np.random.Generator) -> list[int]:
    """The columns of a row that are filled."""
    columns = list(range(settings.cols))
    if not isinstance(settings.per_row, str):
        while len(columns) > settings.per_row:
            columns.pop(int(rng.random() * len(columns)))
    return columns


def _path(settings: GridSettings, rng: np.random.Generator) -> frozenset[tuple[int, int]]:
    """Cells of a path from bottom to top that shifts by at most one column a row."""
    path = []
    col = int(rng.random() * settings.cols)
    for row in reversed(range(settings.rows)):
        path.append((row, col))
        col = min(max(col + int(rng.random() * 3) - 1, 0), settings.cols - 1)
        path.append((row, col))
    return frozenset(path)


Lattice: TypeAlias = list[list[bool]]
"""Whether there is wall: cells at odd rows and columns, walls between them at even ones."""

Span: TypeAlias = tuple[float, float]
"""From, to."""


def maze_walls(settings: MazeSettings, rng: np.random.Generator) -> list[Rect]:
    """Rectangles that cover a maze's walls; one cell at the top and one at the bottom are open."""
    lattice = _carve(settings.rows, settings.cols, rng)
    for row in (0, -1):
        lattice[row][2 * int(rng.random() * settings.cols) + 1] = False
    xs, ys = _edges(settings)
    across = [
        (xs[start], ys[row], xs[end], ys[row + 1])
        for row, cells in enumerate(lattice)
        for start, end in _runs(cells)
    ]
    down = [
        (xs[col], ys[start], xs[col + 1], ys[end])
        for col, cells in enumerate(zip(*lattice, strict=True))
        for start, end in _runs(cells)
    ]
    return across + down


def corridors(settings: MazeSettings) -> tuple[list[Span], list[Span]]:
    """The left and right ends of vertical corridors, the top and bottom of horizontal ones."""
    xs, ys = _edges(settings)
    return list(pairwise(xs))[1::2], list(pairwise(ys))[1::2]


def _carve(rows: int, cols: int, rng: np.random.Generator) -> Lattice:
    lattice = [[True] * (2 * cols + 1) for _ in range(2 * rows + 1)]
    lattice[1][1] = False
    way = [(1, 1)]
    while way:
        row, col = way[-1]
        ahead = [
            (row + down, col + right)
            for down, right in ((-1, 0), (1, 0), (0, -1), (0, 1))
            if 0 < row + 2 * down < 2 * rows
            and 0 < col + 2 * right < 2 * cols
            and lattice[row + 2 * down][col + 2 * right]
        ]
        if not ahead:
            way.pop()
            continue
        passage = ahead[int(rng.random() * len(ahead))]
        cell = (2 * passage[0] - row, 2 * passage[1] - col)
        for open_row, open_col in (passage, cell):
            lattice[open_row][open_col] = False
        way.append(cell)
    return lattice


def _edges(settings: MazeSettings) -> tuple[list[float], list[float]]:
    """Positions at which walls and corridors begin in turn, and the end: x, and y."""
    x, y, width, height = settings.creation_area
    thickness = settings.thickness
    return (_line(x, width, settings.cols, thickness), _line(y, height, settings.rows, thickness))


def _line(start: float, length: float, cells: int, thickness: float) -> list[float]:
    pitch = (length - thickness) / cells
    return [start + n // 2 * pitch + n % 2 * thickness for n in range(2 * cells + 2)]


def _runs(cells: Sequence[bool]) -> Iterator[tuple[int, int]]:
    """Start and end of each run of two or more walls; a single wall is part of a run across."""
    place = 0
    for wall, group in groupby(cells):
        length = len(list(group))
        if wall and length > 1:
            yield place, place + length
        place += length
