"""An episode: its scene, score and rules, and its state as arrays and back, to the bit."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import astuple
from typing import Any, TypeAlias

import numpy as np

from env_adapters.arcade.config import episode_config
from env_adapters.arcade.rules import (
    command,
    drop_blocks,
    move_balls,
    move_opponent,
    move_player,
    move_return_shot,
    move_shot,
    touch_blocks,
    weave_blocks,
)
from env_adapters.arcade.scene import TICKS, Body, Events, Scene
from env_adapters.arcade.sections import Game
from reglue.errors import BadArgument
from reglue.spec import Array, Arrays

_FULL = 100.0 - 1e-9
"""A score that ends the game; 100 divided among blocks may add up to less by rounding."""

Rule: TypeAlias = Callable[[Scene, np.random.Generator], Events]
"""Moves something for a part of a tick; an event of 100 or -100 points ends the game."""


class Play:
    """One episode."""

    def __init__(self, scene: Scene, *, score: float = 0.0, steps: int = 0) -> None:
        self.scene, self.score, self.steps = scene, score, steps
        self.won = self.lost = False
        self._rules = tuple(_rules(scene.game))

    def step(self, right: float, down: float, *, shoot: bool, rng: np.random.Generator) -> float:
        """Play one step, in which the player moves, -1 to 1 of its speed, or shoots; its points."""
        before = self.score
        command(self.scene, right, down, shoot=shoot)
        for _ in range(TICKS * self.scene.parts):
            self._move(rng)
            if self.won or self.lost:
                break
        self.steps += 1
        return self.score - before

    @property
    def late(self) -> bool:
        """Whether the episode has its maximum length."""
        return self.steps >= self.scene.game.meta.max_episode_length

    @property
    def over(self) -> bool:
        """Whether the episode is won, lost or late."""
        return self.won or self.lost or self.late

    def _move(self, rng: np.random.Generator) -> None:
        for rule in self._rules:
            for points in rule(self.scene, rng):
                self.score += points
                self.won = max(points, self.score) >= _FULL
                self.lost = not self.won and min(points, self.score) <= -_FULL
                if self.won or self.lost:
                    return


def _rules(game: Game) -> list[Rule]:
    """The rules of the game's elements, in order."""
    elements, rules = game.game_elements, list[Rule]()
    if elements.opponent:
        rules.append(move_opponent)
    rules.append(move_player)
    if elements.blocks:
        match game.blocks_settings.static_weave_fall:
            case "weave":
                rules.append(weave_blocks)
            case "fall":
                rules.append(drop_blocks)
    if game.actions.fire:
        rules.append(move_shot)
    if elements.opponent and game.opponent_settings.can_shoot:
        rules.append(move_return_shot)
    if elements.ball:
        rules.append(move_balls)
    if elements.blocks:
        rules.append(touch_blocks)
    return rules


_FAR = 4.0  # sides of the screen; no position, size or speed of an episode is greater
_ONE_EACH = 4  # player, opponent and their shots


def play_to_arrays(play: Play) -> Arrays:
    """`config` (bytes,) uint8, the episode's as JSON; `walls` (n, 4), `bodies` (n, 7) and
    `progress` (2,), score and steps, float64. The number of walls and bodies depends on the draws.
    """
    scene = play.scene
    return {
        "config": np.frombuffer(scene.game.model_dump_json().encode(), np.uint8).copy(),
        "walls": np.array(scene.walls, np.float64).reshape(-1, 4),
        "bodies": np.array([astuple(body) for body in scene.bodies], np.float64),
        "progress": np.array([play.score, play.steps], np.float64),
    }


def play_from_arrays(arrays: Arrays) -> Play:
    """The episode that `play_to_arrays` saved. Raises UsageError for other arrays."""
    try:
        game = episode_config(json.loads(arrays["config"].tobytes()))
        score, steps = _numbers(arrays["progress"], (2,), 1e6)
        if not (steps >= 0 and steps.is_integer()):
            raise ValueError(f"got {steps} steps")
        walls = _numbers(arrays["walls"], (-1, 4), _FAR)
        scene = _scene(game, walls, _numbers(arrays["bodies"], (-1, 7), _FAR))
    except (AttributeError, LookupError, RecursionError, TypeError, ValueError) as error:
        raise BadArgument(
            f"got arrays that are no state of an arcade episode: {error!r}"
        ) from error
    return Play(scene, score=score, steps=int(steps))


def _numbers(array: Array, shape: tuple[int, ...], most: float) -> Any:
    """The array as lists. Raises ValueError for a wrong shape (-1: any length), dtype or size."""
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
