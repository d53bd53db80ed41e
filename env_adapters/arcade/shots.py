"""Shots: one of the player's and one of the opponent's may be in the air."""

from __future__ import annotations

import numpy as np

from env_adapters.arcade.body import (
    BOTTOM,
    SHOT_HEIGHT,
    SHOT_WIDTH,
    TOP,
    Body,
    blocked,
    touch,
    touched,
)
from env_adapters.arcade.scene import Events, Scene

_SPEED = 0.01


def unfired() -> Body:
    """A shot out of play."""
    return Body(0.0, 0.0, SHOT_WIDTH, SHOT_HEIGHT, alive=False)


def fire(shot: Body, x: float, y: float) -> None:
    """Put it into play with its middle at (x, y)."""
    shot.x, shot.y, shot.alive = x - SHOT_WIDTH / 2, y - SHOT_HEIGHT / 2, True


def move_shot(scene: Scene, _: np.random.Generator) -> Events:
    """The player's: a block's points for a block, 100 for the opponent."""
    shot, opponent = scene.shot, scene.opponent
    if not shot.alive:
        return ()
    shot.y -= _SPEED / scene.parts
    if opponent.alive and touch(shot.rect, opponent.rect):
        shot.alive = False
        return (100.0,)
    return (scene.worth,) if _takes_block(shot, scene) else ()


def move_return_shot(scene: Scene, _: np.random.Generator) -> Events:
    """The opponent's: nothing for a block, -100 for the player."""
    shot = scene.return_shot
    if not shot.alive:
        return ()
    shot.y += _SPEED / scene.parts
    if touch(shot.rect, scene.player.rect):
        shot.alive = False
        return (-100.0,)
    _takes_block(shot, scene)
    return ()


def _takes_block(shot: Body, scene: Scene) -> bool:
    """Whether it hit one, which is gone then, harmful or not; anything else stops it too."""
    _, top, _, bottom = scene.edges
    if hit := touched(shot.rect, scene.blocks):
        hit[0].alive = shot.alive = False
        return True
    out = shot.y < max(top, TOP - shot.h) or shot.y + shot.h > min(bottom, BOTTOM + shot.h)
    if out or blocked(shot.rect, scene.walls):
        shot.alive = False
    return False
