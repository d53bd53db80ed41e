"""An episode in its middle as arrays, and back, to the bit."""

from __future__ import annotations

import json
from dataclasses import astuple
from typing import Any

import numpy as np

from env_adapters.arcade.body import Body
from env_adapters.arcade.config import episode_config
from env_adapters.arcade.play import Play
from env_adapters.arcade.scene import Scene
from env_adapters.arcade.sections import Game
from reglue.errors import UsageError
from reglue.spec import Array, Arrays

_FAR = 4.0  # sides of the screen; nothing of an episode is farther, larger or faster
_ONE_EACH = 4  # player, opponent and their shots


def inside_of(play: Play) -> Arrays:
    """`config` (bytes,) uint8, the episode's as JSON; `walls` (n, 4), `bodies` (n, 7) and
    `progress` (2,), score and steps, float64. How many there are is drawn with the episode.
    """
    scene = play.scene
    return {
        "config": np.frombuffer(scene.game.model_dump_json().encode(), np.uint8).copy(),
        "walls": np.array(scene.walls, np.float64).reshape(-1, 4),
        "bodies": np.array([astuple(body) for body in scene.bodies], np.float64),
        "progress": np.array([play.score, play.steps], np.float64),
    }


def play_from(inside: Arrays) -> Play:
    """The episode that goes on from there. Raises UsageError for what is none."""
    try:
        game = episode_config(json.loads(inside["config"].tobytes()))
        score, steps = _numbers(inside["progress"], (2,), 1e6)
        if not (steps >= 0 and steps.is_integer()):
            raise ValueError(f"got {steps} steps")
        walls = _numbers(inside["walls"], (-1, 4), _FAR)
        scene = _scene(game, walls, _numbers(inside["bodies"], (-1, 7), _FAR))
    except (AttributeError, LookupError, RecursionError, TypeError, ValueError) as error:
        raise UsageError(f"got no inside of an arcade's episode: {error!r}") from error
    return Play(scene, score=score, steps=int(steps))


def _numbers(array: Array, shape: tuple[int, ...], most: float) -> Any:
    """As lists. Raises ValueError for another shape (-1: any length) or dtype, or beyond `most`."""
    fits = array.dtype == np.float64 and array.ndim == len(shape) and array.shape[-1] == shape[-1]
    if not fits or not (np.abs(array) <= most).all():
        raise ValueError(f"got {array.dtype} {array.shape}, wanted float64 {shape} up to {most}")
    return array.tolist()


def _scene(game: Game, walls: Any, numbers: Any) -> Scene:
    bodies = [Body(x, y, w, h, vx, vy, bool(alive)) for x, y, w, h, vx, vy, alive in numbers]
    if not all(body.w > 0 and body.h > 0 for body in bodies):
        raise ValueError("got a body without width or height")
    elements = game.game_elements
    balls = _ONE_EACH + elements.ball * game.ball_settings.num_balls
    if len(bodies) < balls or (len(bodies) > balls and not elements.blocks):
        raise ValueError(f"got {len(bodies)} bodies, which are not those of the config")
    player, opponent, shot, return_shot = bodies[:_ONE_EACH]
    return Scene(
        game=game,
        walls=[(left, top, right, bottom) for left, top, right, bottom in walls],
        player=player,
        opponent=opponent,
        shot=shot,
        return_shot=return_shot,
        balls=bodies[_ONE_EACH:balls],
        blocks=bodies[balls:],
    )
