"""Blocks: they move round and round, and the player collects or suffers them."""

from __future__ import annotations

import numpy as np

from env_adapters.arcade.body import touched
from env_adapters.arcade.scene import Scene


def weave_blocks(scene: Scene, _: np.random.Generator) -> float:
    """Aside; who leaves comes back at the other side, also if it was taken. No points."""
    for block in scene.blocks:
        block.x += block.vx
        if block.x > 1.0 or block.x + block.w < 0.0:
            block.x = -block.w if block.vx > 0 else 1.0
            block.alive = True
    return 0.0


def drop_blocks(scene: Scene, _: np.random.Generator) -> float:
    """Down; who leaves comes back above. Points for each that fell out."""
    points = 0.0
    for block in scene.blocks:
        block.y += block.vy
        if block.y > 1.0:
            block.y = -block.h
            if block.alive:
                points += scene.game.blocks_settings.fall_points
            block.alive = True
    return points


def touch_blocks(scene: Scene, _: np.random.Generator) -> float:
    """What the player touches: points and the block is gone, or -100."""
    points = 0.0
    for block in touched(scene.player.rect, scene.blocks):
        if scene.game.blocks_settings.harmful:
            return -100.0
        block.alive = False
        points += scene.worth
    return points
