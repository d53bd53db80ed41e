"""The player: where it goes, and when it has left the screen."""

from __future__ import annotations

import numpy as np

from env_adapters.arcade.body import BOTTOM, TOP, Body, blocked
from env_adapters.arcade.scene import Events, Scene
from env_adapters.arcade.shots import fire


def command(scene: Scene, right: float, down: float, *, shoot: bool) -> None:
    """What the player does in the coming ticks: move, -1 to 1 of its speed, or shoot."""
    can, player = scene.game.actions, scene.player
    speed = scene.game.player_settings.speed / scene.parts
    if shoot and can.fire:
        right = down = 0.0
        if not scene.shot.alive:
            fire(scene.shot, player.x + player.w / 2, player.y)
    player.vx = right * speed if (can.right if right > 0 else can.left) else 0.0
    player.vy = down * speed if (can.down if down > 0 else can.up) else 0.0


def move_player(scene: Scene, _: np.random.Generator) -> Events:
    """Move; 100 points for leaving above, -100 below."""
    player = scene.player
    if player.vx:
        move_aside(player, scene)
    if player.vy:
        y = min(max(player.y + player.vy, scene.edges[1]), scene.edges[3] - player.h)
        if not blocked((player.x, y, player.x + player.w, y + player.h), scene.walls):
            player.y = y
        if player.y + player.h < TOP:
            return (100.0,)
        if player.y > BOTTOM:
            return (-100.0,)
    return ()


def move_aside(body: Body, scene: Scene) -> None:
    """By its `vx`, up to the edge; not at all where a wall is in the way."""
    least, _, most, _ = scene.edges
    x = min(max(body.x + body.vx, least), most - body.w)
    if not blocked((x, body.y, x + body.w, body.y + body.h), scene.walls):
        body.x = x
