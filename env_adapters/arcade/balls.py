"""Balls: they bounce off everything, and off the player as that steers."""

from __future__ import annotations

import math

import numpy as np

from env_adapters.arcade.body import Body, Rect, touch, touched
from env_adapters.arcade.scene import Events, Scene

_LEAN = 0.81
"""Sine of 54 degrees: how far aside the end of a player can send a ball."""


def move_balls(scene: Scene, _: np.random.Generator) -> Events:
    """100 points for a ball that leaves above, -100 below, and a block's for each it takes.

    A harmful one takes none and leaves for good without points; it costs 100 where it
    touches the player.
    """
    events: Events = ()
    for ball in scene.balls:
        if ball.alive:
            events += _move(ball, scene)
    return events


def _move(ball: Body, scene: Scene) -> Events:
    harmful = scene.game.ball_settings.harmful
    events = _bounce_off_things(ball, scene)
    if harmful and touch(_ahead(ball, 1, 1), scene.player.rect):
        return (-100.0,)
    _bounce_off_paddles(ball, scene)
    ball.x += ball.vx
    ball.y += ball.vy
    _bounce_off_edges(ball, scene.edges)
    if -ball.h <= ball.y <= 1.0:
        return events
    ball.alive = False
    if harmful:
        return events
    return (100.0,) if ball.y < 0 else (-100.0,)


def _bounce_off_things(ball: Body, scene: Scene) -> Events:
    """Off walls and blocks; points for what it takes. What it is inside of lets it out."""
    here, ahead = ball.rect, _ahead(ball, 1, 1)
    blocks = {block.rect: block for block in touched(ahead, scene.blocks)}
    things = [wall for wall in scene.walls if touch(ahead, wall)] + list(blocks)
    things = [thing for thing in things if not touch(here, thing)]
    if not things:
        return ()
    beside = [thing for thing in things if touch(_ahead(ball, 1, 0), thing)]
    before = [thing for thing in things if touch(_ahead(ball, 0, 1), thing)]
    hit = (
        {_next(beside, ball.vx, 0), _next(before, ball.vy, 1)} if beside or before else {things[0]}
    )
    if beside or not before:
        ball.vx = -ball.vx
    if before or not beside:
        ball.vy = -ball.vy
    if scene.game.ball_settings.harmful or scene.game.blocks_settings.harmful:
        return ()
    taken = [blocks[thing] for thing in hit if thing in blocks]
    for block in taken:
        block.alive = False
    return (scene.worth,) * len(taken)


def _next(things: list[Rect], speed: float, axis: int) -> Rect | None:
    """The first in the way, so that none is hit through another."""
    if speed > 0:
        return min(things, key=lambda thing: thing[axis], default=None)
    return max(things, key=lambda thing: thing[axis + 2], default=None)


def _bounce_off_paddles(ball: Body, scene: Scene) -> None:
    paddle = scene.player if ball.vy > 0 else scene.opponent
    if not paddle.alive or not touch(_ahead(ball, 0, 1), paddle.rect):
        return
    if paddle is scene.player:
        _steer(ball, scene)
    else:
        ball.vy = -ball.vy


def _steer(ball: Body, scene: Scene) -> None:
    """Upwards, between the mirrored direction and the one of the place where it hits."""
    player, steering = scene.player, scene.game.player_settings.steering
    speed = math.sqrt(ball.vx * ball.vx + ball.vy * ball.vy)
    place = (ball.x + ball.w / 2 - player.x) / player.w
    lean = _LEAN * (2.0 * min(max(place, 0.0), 1.0) - 1.0)
    right = steering * lean * speed + (1.0 - steering) * ball.vx
    up = steering * math.sqrt(1.0 - lean * lean) * speed + (1.0 - steering) * ball.vy
    length = math.sqrt(right * right + up * up)
    ball.vx, ball.vy = speed * right / length, -speed * up / length


def _bounce_off_edges(ball: Body, edges: Rect) -> None:
    left, top, right, bottom = edges
    if ball.x < left:
        ball.x, ball.vx = left, abs(ball.vx)
    elif ball.x + ball.w > right:
        ball.x, ball.vx = right - ball.w, -abs(ball.vx)
    if ball.y < top:
        ball.y, ball.vy = top, abs(ball.vy)
    elif ball.y + ball.h > bottom:
        ball.y, ball.vy = bottom - ball.h, -abs(ball.vy)


def _ahead(ball: Body, aside: int, along: int) -> Rect:
    """Where it would be after a part of a tick in these directions, 0 or 1 each."""
    x, y = ball.x + aside * ball.vx, ball.y + along * ball.vy
    return x, y, x + ball.w, y + ball.h
