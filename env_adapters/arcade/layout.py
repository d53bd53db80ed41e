"""The start of an episode: walls, maze and bodies, placed as the config says and at random.

The arcade draws by `Generator.random` alone: its bits are the same on every platform, while
NumPy may change how it draws anything else.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import groupby, pairwise
from typing import TypeAlias

import numpy as np

from env_adapters.arcade.rules import unfired
from env_adapters.arcade.scene import STAND, Body, Rect, Scene, parts_of_a_tick
from env_adapters.arcade.sections import (
    BallSettings,
    BlocksSettings,
    Game,
    GridSettings,
    MazeSettings,
)


def lay_out(game: Game, rng: np.random.Generator) -> Scene:
    """The beginning of an episode."""
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
        shot=unfired(),
        return_shot=unfired(),
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
    filled = [_filled(settings, rng) for _ in range(settings.rows)]
    path = _path(settings, rng) if settings.clear_path else frozenset()
    for row, columns in enumerate(filled):
        top, bottom = y + row * h + margin_y, y + (row + 1) * h - margin_y
        for col in columns:
            if (row, col) not in path:
                yield row, (x + col * w + margin_x, top, x + (col + 1) * w - margin_x, bottom)


def _filled(settings: GridSettings, rng: np.random.Generator) -> list[int]:
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
    """Rectangles that cover the walls; one cell above and one below is open."""
    lattice = _carved(settings.rows, settings.cols, rng)
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
    """Left and right of the upright ones, top and bottom of the level ones."""
    xs, ys = _edges(settings)
    return list(pairwise(xs))[1::2], list(pairwise(ys))[1::2]


def _carved(rows: int, cols: int, rng: np.random.Generator) -> Lattice:
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
        door = ahead[int(rng.random() * len(ahead))]
        cell = (2 * door[0] - row, 2 * door[1] - col)
        for open_row, open_col in (door, cell):
            lattice[open_row][open_col] = False
        way.append(cell)
    return lattice


def _edges(settings: MazeSettings) -> tuple[list[float], list[float]]:
    """Where walls and corridors in turn begin, and the end: from the left, and from above."""
    x, y, width, height = settings.creation_area
    thickness = settings.thickness
    return (
        _line(x, width, settings.cols, thickness),
        _line(y, height, settings.rows, thickness),
    )


def _line(start: float, length: float, cells: int, thickness: float) -> list[float]:
    pitch = (length - thickness) / cells
    return [start + n // 2 * pitch + n % 2 * thickness for n in range(2 * cells + 2)]


def _runs(cells: Sequence[bool]) -> Iterator[tuple[int, int]]:
    """Start and end of each wall of two or more; what stands alone is part of one across."""
    place = 0
    for wall, group in groupby(cells):
        length = len(list(group))
        if wall and length > 1:
            yield place, place + length
        place += length
