"""Motion in a part of a tick, and the points that each event earns."""

from __future__ import annotations

import math

import numpy as np

from env_adapters.arcade.scene import (
    BOTTOM,
    SHOT_HEIGHT,
    SHOT_WIDTH,
    TOP,
    Body,
    Events,
    Rect,
    Scene,
    blocked,
    touch,
    touched,
)

_SPEED = 0.01


def fire(shot: Body, x: float, y: float) -> None:
    """Put it into play with its middle at (x, y)."""
    shot.x, shot.y, shot.alive = x - SHOT_WIDTH / 2, y - SHOT_HEIGHT / 2, True


def move_shot(scene: Scene, _: np.random.Generator) -> Events:
    """Move the player's shot: a block earns its points, the opponent 100."""
    shot, opponent = scene.shot, scene.opponent
    if not shot.alive:
        return ()
    shot.y -= _SPEED / scene.parts
    if opponent.alive and touch(shot.rect, opponent.rect):
        shot.alive = False
        return (100.0,)
    return (scene.worth,) if _takes_block(shot, scene) else ()


def move_return_shot(scene: Scene, _: np.random.Generator) -> Events:
    """Move the opponent's shot: a block earns nothing, the player costs 100."""
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
    """Remove the block that the shot hits, if any, harmful or not; anything else stops the shot."""
    _, top, _, bottom = scene.edges
    if hit := touched(shot.rect, scene.blocks):
        hit[0].alive = shot.alive = False
        return True
    out = shot.y < max(top, TOP - shot.h) or shot.y + shot.h > min(bottom, BOTTOM + shot.h)
    if out or blocked(shot.rect, scene.walls):
        shot.alive = False
    return False


def command(scene: Scene, right: float, down: float, *, shoot: bool) -> None:
    """Set what the player does in the coming ticks: move, -1 to 1 of its speed, or shoot."""
    can, player = scene.game.actions, scene.player
    speed = scene.game.player_settings.speed / scene.parts
    if shoot and can.fire:
        right = down = 0.0
        if not scene.shot.alive:
            fire(scene.shot, player.x + player.w / 2, player.y)
    player.vx = right * speed if (can.right if right > 0 else can.left) else 0.0
    player.vy = down * speed if (can.down if down > 0 else can.up) else 0.0


def move_player(scene: Scene, _: np.random.Generator) -> Events:
    """Move the player: leaving at the top earns 100 points, at the bottom -100."""
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
    """Move a body by its `vx`, up to the edge; it stays if a wall is in the way."""
    least, _, most, _ = scene.edges
    x = min(max(body.x + body.vx, least), most - body.w)
    if not blocked((x, body.y, x + body.w, body.y + body.h), scene.walls):
        body.x = x


_WANDERS = 0.05  # probability of a new decision in a tick, if it follows no ball
_FIRES = 0.005  # probability of a shot in a tick, if it can shoot
_CARE = 0.03  # distance that it keeps from a shot, sides of the screen


def move_opponent(scene: Scene, rng: np.random.Generator) -> Events:
    """Let the opponent decide, move, and perhaps shoot; no points."""
    opponent, settings = scene.opponent, scene.game.opponent_settings
    if settings.tracks_ball or rng.random() < _WANDERS / scene.parts:
        opponent.vx = settings.speed / scene.parts * _direction(scene, rng)
    if opponent.vx:
        move_aside(opponent, scene)
    may_shoot = settings.can_shoot and not scene.return_shot.alive
    if may_shoot and rng.random() < _FIRES / scene.parts:
        fire(scene.return_shot, opponent.x + opponent.w / 2, opponent.y + opponent.h)
    return ()


def _direction(scene: Scene, rng: np.random.Generator) -> float:
    """-1, 0 or 1: the best direction with probability `skill_level`, else a random one."""
    wise = _evading(scene)
    if wise is None:
        wise = _following(scene)
    if wise is not None and rng.random() < scene.game.opponent_settings.skill_level:
        return wise
    if scene.game.opponent_settings.tracks_ball:
        return 1.0 if rng.random() < 0.5 else -1.0
    return float(int(rng.random() * 3) - 1)


def _evading(scene: Scene) -> float | None:
    """Away from the player's shot, if that would hit or nearly hit."""
    shot, opponent = scene.shot, scene.opponent
    if not shot.alive or shot.y < opponent.y:
        return None
    if shot.x + shot.w < opponent.x - _CARE or opponent.x + opponent.w + _CARE < shot.x:
        return None
    return -1.0 if opponent.x + opponent.w / 2 < shot.x + shot.w / 2 else 1.0


def _following(scene: Scene) -> float | None:
    """Towards the highest ball."""
    balls = [ball for ball in scene.balls if ball.alive]
    if not scene.game.opponent_settings.tracks_ball or not balls:
        return None
    ball, opponent = min(balls, key=lambda ball: ball.y), scene.opponent
    return 1.0 if ball.x + ball.w / 2 > opponent.x + opponent.w / 2 else -1.0


def weave_blocks(scene: Scene, _: np.random.Generator) -> Events:
    """Move blocks sideways; one that leaves returns at the other side, even if it was taken."""
    for block in scene.blocks:
        block.x += block.vx
        if block.x > 1.0 or block.x + block.w < 0.0:
            block.x = -block.w if block.vx > 0 else 1.0
            block.alive = True
    return ()


def drop_blocks(scene: Scene, _: np.random.Generator) -> Events:
    """Move blocks down; one that leaves returns at the top and earns `fall_points`."""
    fell = 0
    for block in scene.blocks:
        block.y += block.vy
        if block.y > 1.0:
            block.y = -block.h
            fell += block.alive
            block.alive = True
    return (scene.game.blocks_settings.fall_points,) * fell


def touch_blocks(scene: Scene, _: np.random.Generator) -> Events:
    """Remove the blocks that the player touches, for points; a harmful one costs 100."""
    blocks = touched(scene.player.rect, scene.blocks)
    if blocks and scene.game.blocks_settings.harmful:
        return (-100.0,)
    for block in blocks:
        block.alive = False
    return (scene.worth,) * len(blocks)


_LEAN = 0.81
"""Sine of 54 degrees: the end of a player sends a ball this far sideways."""


def move_balls(scene: Scene, _: np.random.Generator) -> Events:
    """Move the balls: leaving at the top earns 100 points, at the bottom -100, a block its own.

    A harmful ball removes no blocks and leaves without points; it costs 100 if it touches
    the player.
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
    """Bounce off walls and blocks, for the points of blocks; a ball inside a thing may leave it."""
    now, ahead = ball.rect, _ahead(ball, 1, 1)
    blocks = {block.rect: block for block in touched(ahead, scene.blocks)}
    things = [wall for wall in scene.walls if touch(ahead, wall)] + list(blocks)
    things = [thing for thing in things if not touch(now, thing)]
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
    """The first thing in the ball's way, so that nothing is hit through another thing."""
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
    """Send the ball upwards, between its mirrored direction and that of the place it hits."""
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
    """The ball's place after a part of a tick, moved in x if `aside`, in y if `along`."""
    x, y = ball.x + aside * ball.vx, ball.y + along * ball.vy
    return x, y, x + ball.w, y + ball.h
