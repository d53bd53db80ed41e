"""Blocks: they move round and round, and the player collects or suffers them."""

from __future__ import annotations

import numpy as np

from env_adapters.arcade.body import touched
from env_adapters.arcade.scene import Events, Scene


def weave_blocks(scene: Scene, _: np.random.Generator) -> Events:
    """Aside; who leaves comes back at the other side, also if it was taken. No points."""
    for block in scene.blocks:
        block.x += block.vx
        if block.x > 1.0 or block.x + block.w < 0.0:
            block.x = -block.w if block.vx > 0 else 1.0
            block.alive = True
    return ()


def drop_blocks(scene: Scene, _: np.random.Generator) -> Events:
    """Down; who leaves comes back above. Points for each that fell out."""
    fell = 0
    for block in scene.blocks:
        block.y += block.vy
        if block.y > 1.0:
            block.y = -block.h
            fell += block.alive
            block.alive = True
    return (scene.game.blocks_settings.fall_points,) * fell


def touch_blocks(scene: Scene, _: np.random.Generator) -> Events:
    """What the player touches: points and the block is gone, or -100."""
    blocks = touched(scene.player.rect, scene.blocks)
    if blocks and scene.game.blocks_settings.harmful:
        return (-100.0,)
    for block in blocks:
        block.alive = False
    return (scene.worth,) * len(blocks)
