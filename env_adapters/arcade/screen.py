"""The picture of an episode: what stands is drawn when it changes, what moves in each frame."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeAlias

import numpy as np

from env_adapters.arcade.backdrop import backdrop, draw_score, pixels_within
from env_adapters.arcade.body import Body
from env_adapters.arcade.colors import tinted
from env_adapters.arcade.play import Play
from env_adapters.arcade.scene import Scene
from env_adapters.arcade.sprites import SIDE, Sprite, crossed, disc, plain
from reglue.spec import Array

Actor: TypeAlias = tuple[Sprite, Body, float, float]
"""A sprite, the body that it follows, and how far right and down of its top left it is."""

_TURRET_WIDTH, _TURRET_HEIGHT = 0.024, 0.036


class Screen:
    """Draws one episode."""

    def __init__(self, play: Play) -> None:
        self._play = play
        blocks = _blocks(play.scene)
        static = play.scene.game.blocks_settings.static_weave_fall == "static"
        self._standing = blocks if static else []
        self._moving = [*([] if static else blocks), *_actors(play.scene)]
        self._backdrop = backdrop(play.scene)
        self._shown: tuple[float, int] | None = None  # score and standing blocks of the stage
        self._stage = self._backdrop
        self._turns = play.scene.game.image_settings.rotation

    def draw(self) -> Array:
        """(84, 84, 3) uint8, new each time, turned as the config says."""
        shown = self._play.score, sum(actor[1].alive for actor in self._standing)
        if shown != self._shown:
            self._set_stage()
            self._shown = shown
        frame = self._stage.copy()
        _paint(np.rot90(frame, -self._turns) if self._turns else frame, self._moving)
        return frame

    def _set_stage(self) -> None:
        frame = self._backdrop.copy()
        _paint(frame, self._standing)
        for wall in map(pixels_within, self._play.scene.walls):
            frame[wall] = self._backdrop[wall]
        draw_score(frame, self._play.score, self._play.scene.game)
        self._stage = np.ascontiguousarray(np.rot90(frame, self._turns))


def _paint(frame: Array, actors: list[Actor]) -> None:
    for sprite, body, right, down in actors:
        if body.alive:
            sprite.paint(frame, body.x + right, body.y + down)


def _blocks(scene: Scene) -> list[Actor]:
    """All of one size, rounded so that gaps stay gaps, and what has none stays closed."""
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
    """From the hindmost."""
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
