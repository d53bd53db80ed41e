"""What a frame shows behind all that moves: ground, walls, and the bars above and below."""

from __future__ import annotations

import math

import numpy as np

from env_adapters.arcade.body import BOTTOM, TOP, Rect
from env_adapters.arcade.colors import tinted
from env_adapters.arcade.scene import Scene
from env_adapters.arcade.sections import Game
from env_adapters.arcade.sprites import SHOWN, SIDE, pixels_of
from reglue.spec import Array

_STRIPES = 4  # pixels from one to the next
_METER = slice(2, 4), slice(1, 83)  # rows and columns of the score
_LAMPS = slice(80, 82)  # rows of the actions' lamps
_LAMP_WIDTH, _LAMP_PITCH = 12, 16


def backdrop(scene: Scene) -> Array:
    """(84, 84, 3) uint8, with a score of 0."""
    game = scene.game
    ground = tinted(game.display_settings.background_color, game.image_settings)
    wall = tinted(game.static_barrier_settings.color, game.image_settings)
    line = np.arange(SIDE)
    striped = np.full((SIDE, SIDE, 3), wall)
    striped[np.add.outer(line, line) % _STRIPES == 0] = ground
    frame = np.full((SIDE, SIDE, 3), ground)
    for rect in [*_rims(scene), *scene.walls]:
        area = pixels_within(rect)
        frame[area] = striped[area]
    _draw_bars(frame, game)
    return frame


def draw_score(frame: Array, score: float, game: Game) -> None:
    """From the left, full at 100; nothing below 0."""
    rows, columns = _METER
    width = int((columns.stop - columns.start) * min(max(score, 0.0), 100.0) / 100.0)
    color = tinted(game.display_settings.indicator_color_1, game.image_settings)
    frame[rows, columns.start : columns.start + width] = color


def pixels_within(rect: Rect) -> tuple[slice, slice]:
    """Rows and columns, one at least."""
    left, top, right, bottom = (pixels_of(max(edge, 0.0)) for edge in rect)
    return slice(top, max(bottom, top + 1)), slice(left, max(right, left + 1))


def _rims(scene: Scene) -> list[Rect]:
    """The walls at the edges."""
    left, top, right, bottom = scene.edges
    rims = [(0.0, TOP, left, BOTTOM), (right, TOP, 1.0, BOTTOM)]
    if top > 0:
        rims.append((0.0, TOP, 1.0, top))
    if math.isfinite(bottom):
        rims.append((0.0, bottom, 1.0, BOTTOM))
    return rims


def _draw_bars(frame: Array, game: Game) -> None:
    display, actions = game.display_settings, game.actions
    bar, bright, dark = (
        tinted(color, game.image_settings)
        for color in (display.ui_color, display.indicator_color_1, display.indicator_color_2)
    )
    frame[: SHOWN.start] = frame[SHOWN.stop :] = bar
    frame[_METER] = dark
    lamps = (actions.up, actions.down, actions.left, actions.right, actions.fire)
    for place, lit in enumerate(lamps):
        start = 4 + place * _LAMP_PITCH
        frame[_LAMPS, start : start + _LAMP_WIDTH] = bright if lit else dark
