"""Draws an episode: sprites, the backdrop, and the frames of both."""

from __future__ import annotations

import colorsys
import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from env_adapters.arcade.play import Play
from env_adapters.arcade.scene import BOTTOM, TOP, Body, Rect, Scene
from env_adapters.arcade.sections import Game, ImageSettings
from reglue.spec import Array

SIDE = 84
"""Pixels of a frame's side."""

SHOWN = slice(6, 78)
"""Rows of a frame that the bars above and below leave free."""

_FIRST, _LAST = SHOWN.start, SHOWN.stop


@dataclass(frozen=True, slots=True)
class Sprite:
    """Pixels (h, w, 3) uint8, and which of them are painted, (h, w, 1) bool; None: all."""

    pixels: Array
    mask: Array | None = None

    def paint(self, frame: Array, x: float, y: float) -> None:
        """Paint into `frame` (84, 84, 3), top left at (x, y) in sides of the screen, -2 or more."""
        left, top = pixels_of(x + 2.0) - 2 * SIDE, pixels_of(y + 2.0) - 2 * SIDE
        pixels, mask = self.pixels, self.mask
        height, width, _ = pixels.shape
        right, bottom = left + width, top + height
        if left < 0 or right > SIDE or top < _FIRST or bottom > _LAST:
            l, t = max(left, 0), max(top, _FIRST)  # noqa: E741
            r, b = min(right, SIDE), min(bottom, _LAST)
            if l >= r or t >= b:
                return
            part = (slice(t - top, b - top), slice(l - left, r - left))
            pixels, mask = pixels[part], None if mask is None else mask[part]
            left, top, right, bottom = l, t, r, b
        if mask is None:
            frame[top:bottom, left:right] = pixels
        else:
            np.copyto(frame[top:bottom, left:right], pixels, where=mask)


def pixels_of(length: float) -> int:
    """The nearest number of pixels; 0 or more."""
    return int(length * SIDE + 0.5)


def plain(width: float, height: float, color: Array) -> Sprite:
    """A filled rectangle of at least one pixel; lengths in sides of the screen."""
    shape = (max(1, pixels_of(height)), max(1, pixels_of(width)), 3)
    return Sprite(np.full(shape, color, np.uint8))


def crossed(width: float, height: float, color: Array, ground: Array) -> Sprite:
    """A rectangle's outline and diagonals; the outline alone if these leave no pixel free."""
    pixels = plain(width, height, color).pixels
    rows, cols, _ = pixels.shape
    row, col = np.mgrid[:rows, :cols]
    # Both diagonals, as thick as a pixel of the longer side, computed in integers.
    falling = abs(row * (cols - 1) - col * (rows - 1))
    rising = abs((rows - 1 - row) * (cols - 1) - col * (rows - 1))
    free = (2 * np.minimum(falling, rising) >= max(rows, cols))[1:-1, 1:-1]
    pixels[1:-1, 1:-1][free if free.any() else ...] = ground
    return Sprite(pixels)


def disc(size: float, color: Array, *, ring: bool) -> Sprite:
    """A ball: filled, or an outline of 1.5 pixels, which has a hole from a size of 3 pixels."""
    pixels = plain(size, size, color).pixels
    n = len(pixels)
    row, col = np.mgrid[:n, :n]
    twice = (2 * row + 1 - n) ** 2 + (2 * col + 1 - n) ** 2  # squared distance from the middle
    mask = twice <= n * n
    if ring and n > 2:
        mask &= twice >= max((n - 3) ** 2, 3)
    return Sprite(pixels, mask[:, :, None])


def tinted(color: tuple[int, int, int], settings: ImageSettings) -> Array:
    """(3,) uint8: shifted in hue, saturation and value, then perhaps inverted."""
    red, green, blue = (channel / 255.0 for channel in color)
    hue, saturation, value = colorsys.rgb_to_hsv(red, green, blue)
    shifted = colorsys.hsv_to_rgb(
        (hue + settings.hue_shift) % 1.0,
        min(max(saturation + settings.saturation_shift, 0.0), 1.0),
        min(max(value + settings.value_shift, 0.0), 1.0),
    )
    channels = np.array([int(255.0 * part + 0.5) for part in shifted], np.uint8)
    return 255 - channels if settings.color_inversion else channels


_STRIPES = 4  # pixels from one to the next
_METER = slice(2, 4), slice(1, 83)  # rows and columns of the score
_LAMPS = slice(80, 82)  # rows of the actions' lamps
_LAMP_WIDTH, _LAMP_PITCH = 12, 16


def backdrop(scene: Scene) -> Array:
    """The ground, walls and bars of the picture, (84, 84, 3) uint8, with a score of 0."""
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
    """Draw the score as a bar from the left: empty up to 0, full from 100."""
    rows, columns = _METER
    width = int((columns.stop - columns.start) * min(max(score, 0.0), 100.0) / 100.0)
    color = tinted(game.display_settings.indicator_color_1, game.image_settings)
    frame[rows, columns.start : columns.start + width] = color


def pixels_within(rect: Rect) -> tuple[slice, slice]:
    """Rows and columns of a rectangle, at least one of each."""
    left, top, right, bottom = (pixels_of(max(edge, 0.0)) for edge in rect)
    return slice(top, max(bottom, top + 1)), slice(left, max(right, left + 1))


def _rims(scene: Scene) -> list[Rect]:
    """The walls at the screen's edges."""
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


Actor: TypeAlias = tuple[Sprite, Body, float, float]
"""A sprite, the body that it follows, and its offset right and down of the body's top left."""

_TURRET_WIDTH, _TURRET_HEIGHT = 0.024, 0.036


class Screen:
    """Draws one episode."""

    def __init__(self, play: Play) -> None:
        self._play = play
        blocks = _blocks(play.scene)
        static = play.scene.game.blocks_settings.static_weave_fall == "static"
        self._static = blocks if static else []
        self._moving = [*([] if static else blocks), *_actors(play.scene)]
        self._backdrop = backdrop(play.scene)
        self._still_state: tuple[float, int] | None = None  # score and static blocks in `_still`
        self._still = self._backdrop  # all that did not move since the last frame
        self._turns = play.scene.game.image_settings.rotation

    def draw(self) -> Array:
        """(84, 84, 3) uint8, new each time, turned as the config says."""
        state = self._play.score, sum(actor[1].alive for actor in self._static)
        if state != self._still_state:
            self._draw_still()
            self._still_state = state
        frame = self._still.copy()
        _paint(np.rot90(frame, -self._turns) if self._turns else frame, self._moving)
        return frame

    def _draw_still(self) -> None:
        frame = self._backdrop.copy()
        _paint(frame, self._static)
        for wall in map(pixels_within, self._play.scene.walls):
            frame[wall] = self._backdrop[wall]
        draw_score(frame, self._play.score, self._play.scene.game)
        self._still = np.ascontiguousarray(np.rot90(frame, self._turns))


def _paint(frame: Array, actors: list[Actor]) -> None:
    for sprite, body, right, down in actors:
        if body.alive:
            sprite.paint(frame, body.x + right, body.y + down)


def _blocks(scene: Scene) -> list[Actor]:
    """Sprites of one size, rounded so that gaps stay open and blocks without gaps stay closed."""
    if not scene.blocks:
        return []
    game, first = scene.game, scene.blocks[0]
    color = tinted(game.blocks_settings.color, game.image_settings)
    ground = tinted(game.display_settings.background_color, game.image_settings)
    bleed = (-0.5 if game.blocks_settings.spacing > 0 else 0.5) / SIDE
    size = first.w + bleed, first.h + bleed
    harmful = game.blocks_settings.harmful
    sprite = crossed(*size, color, ground) if harmful else plain(*size, color)
    return [(sprite, block, 0.0, 0.0) for block in scene.blocks]


def _actors(scene: Scene) -> Iterator[Actor]:
    """Everything that moves, the farthest back first."""
    game, image = scene.game, scene.game.image_settings
    white = tinted(game.player_settings.color, image)
    red = tinted(game.opponent_settings.color, image)
    orange = tinted(game.ball_settings.color, image)
    for ball in scene.balls:
        yield disc(ball.w, orange, ring=game.ball_settings.harmful), ball, 0.0, 0.0
    for shot, color in ((scene.shot, white), (scene.return_shot, red)):
        yield plain(shot.w, shot.h, color), shot, 0.0, 0.0
    for paddle, color, shoots, end in (
        (scene.opponent, red, game.opponent_settings.can_shoot, scene.opponent.h),
        (scene.player, white, game.actions.fire, 0.0),
    ):
        yield plain(paddle.w, paddle.h, color), paddle, 0.0, 0.0
        if shoots:
            turret = plain(_TURRET_WIDTH, _TURRET_HEIGHT, color)
            middle = (paddle.w - _TURRET_WIDTH) / 2
            yield turret, paddle, middle, end - _TURRET_HEIGHT / 2
