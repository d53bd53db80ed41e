"""The opponent: follows the ball or wanders, evades shots, and shoots."""

from __future__ import annotations

import numpy as np

from env_adapters.arcade.player import move_aside
from env_adapters.arcade.scene import Events, Scene
from env_adapters.arcade.shots import fire

_WANDERS = 0.05  # how likely it decides anew in a tick, where it follows no ball
_FIRES = 0.005  # how likely it shoots in a tick, if it can
_CARE = 0.03  # sides of the screen that it likes to be away from a shot


def move_opponent(scene: Scene, chance: np.random.Generator) -> Events:
    """Decide, move, and perhaps shoot; no points."""
    opponent, settings = scene.opponent, scene.game.opponent_settings
    if settings.tracks_ball or chance.random() < _WANDERS / scene.parts:
        opponent.vx = settings.speed / scene.parts * _direction(scene, chance)
    if opponent.vx:
        move_aside(opponent, scene)
    may_shoot = settings.can_shoot and not scene.return_shot.alive
    if may_shoot and chance.random() < _FIRES / scene.parts:
        fire(scene.return_shot, opponent.x + opponent.w / 2, opponent.y + opponent.h)
    return ()


def _direction(scene: Scene, chance: np.random.Generator) -> float:
    """-1, 0 or 1: what is wise, if it has the skill this time; else by chance."""
    wise = _evading(scene)
    if wise is None:
        wise = _following(scene)
    if wise is not None and chance.random() < scene.game.opponent_settings.skill_level:
        return wise
    if scene.game.opponent_settings.tracks_ball:
        return 1.0 if chance.random() < 0.5 else -1.0
    return float(int(chance.random() * 3) - 1)


def _evading(scene: Scene) -> float | None:
    """Away from the player's shot if that would hit, or nearly."""
    shot, opponent = scene.shot, scene.opponent
    if not shot.alive or shot.y < opponent.y:
        return None
    if shot.x + shot.w < opponent.x - _CARE or opponent.x + opponent.w + _CARE < shot.x:
        return None
    return -1.0 if opponent.x + opponent.w / 2 < shot.x + shot.w / 2 else 1.0


def _following(scene: Scene) -> float | None:
    """Towards the ball that is next to it."""
    balls = [ball for ball in scene.balls if ball.alive]
    if not scene.game.opponent_settings.tracks_ball or not balls:
        return None
    ball, opponent = min(balls, key=lambda ball: ball.y), scene.opponent
    return 1.0 if ball.x + ball.w / 2 > opponent.x + opponent.w / 2 else -1.0
