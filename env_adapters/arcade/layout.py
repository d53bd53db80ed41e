"""What an episode begins with: walls and bodies, placed as the config says and by chance.

All chance in the arcade is `Generator.random`: its bits are the same on every platform,
while the rules by which NumPy draws anything else may change.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from env_adapters.arcade.body import STAND, Body, Rect
from env_adapters.arcade.maze import maze_walls
from env_adapters.arcade.pace import parts_of_a_tick
from env_adapters.arcade.scene import Scene
from env_adapters.arcade.sections import BallSettings, BlocksSettings, Game, GridSettings
from env_adapters.arcade.shots import unfired


def lay_out(game: Game, chance: np.random.Generator) -> Scene:
    """The beginning of an episode."""
    elements, player, rival = game.game_elements, game.player_settings, game.opponent_settings
    parts = parts_of_a_tick(game)
    walls = []
    if elements.static_barriers:
        walls += [rect for _, rect in _grid(game.static_barrier_settings, chance)]
    if elements.maze:
        walls += maze_walls(game.maze_settings, chance)
    return Scene(
        game=game,
        walls=walls,
        player=Body(0.5 - player.width / 2, STAND - player.height, player.width, player.height),
        opponent=Body(
            0.5 - rival.width / 2, 0.12, rival.width, rival.height, alive=elements.opponent
        ),
        shot=unfired(),
        return_shot=unfired(),
        balls=_balls(game.ball_settings, parts, chance) if elements.ball else [],
        blocks=list(_blocks(game.blocks_settings, parts, chance)) if elements.blocks else [],
    )


def _balls(settings: BallSettings, parts: int, chance: np.random.Generator) -> list[Body]:
    """One in the middle, more above, all on their way down at 46 to 74 degrees."""
    size, speed = settings.size, settings.speed / parts
    lean = 0.27 + 0.43 * chance.random()
    vx = speed * (lean if chance.random() < 0.5 else -lean)
    vy = speed * math.sqrt(1.0 - lean * lean)
    middle = 0.5 - size / 2
    return [
        Body(middle, middle - 0.15 * above, size, size, vx, vy)
        for above in range(settings.num_balls)
    ]


def _blocks(settings: BlocksSettings, parts: int, chance: np.random.Generator) -> Iterator[Body]:
    kind, speed = settings.static_weave_fall, settings.speed / parts
    for row, (left, top, right, bottom) in _grid(settings, chance):
        vx = (speed if row % 2 == 0 else -speed) if kind == "weave" else 0.0
        vy = speed if kind == "fall" else 0.0
        yield Body(left, top, right - left, bottom - top, vx, vy)


def _grid(settings: GridSettings, chance: np.random.Generator) -> Iterator[tuple[int, Rect]]:
    """The grid's rectangles, each after its row."""
    x, y, width, height = settings.creation_area
    w, h = width / settings.cols, height / settings.rows
    margin_x, margin_y = w * settings.spacing / 2, h * settings.spacing / 2
    filled = [_filled(settings, chance) for _ in range(settings.rows)]
    path = _path(settings, chance) if settings.clear_path else frozenset()
    for row, columns in enumerate(filled):
        top, bottom = y + row * h + margin_y, y + (row + 1) * h - margin_y
        for col in columns:
            if (row, col) not in path:
                yield row, (x + col * w + margin_x, top, x + (col + 1) * w - margin_x, bottom)


def _filled(settings: GridSettings, chance: np.random.Generator) -> list[int]:
    """The columns of a row that have a rectangle."""
    columns = list(range(settings.cols))
    if not isinstance(settings.per_row, str):
        while len(columns) > settings.per_row:
            columns.pop(int(chance.random() * len(columns)))
    return columns


def _path(settings: GridSettings, chance: np.random.Generator) -> frozenset[tuple[int, int]]:
    """Cells of a way from below to above that goes aside by one column at most in a row."""
    path = []
    col = int(chance.random() * settings.cols)
    for row in reversed(range(settings.rows)):
        path.append((row, col))
        col = min(max(col + int(chance.random() * 3) - 1, 0), settings.cols - 1)
        path.append((row, col))
    return frozenset(path)
