"""An episode: its scene, its score, and the rules that move it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np

from env_adapters.arcade.balls import move_balls
from env_adapters.arcade.blocks import drop_blocks, touch_blocks, weave_blocks
from env_adapters.arcade.opponent import move_opponent
from env_adapters.arcade.pace import TICKS
from env_adapters.arcade.player import command, move_player
from env_adapters.arcade.scene import Events, Scene
from env_adapters.arcade.sections import Game
from env_adapters.arcade.shots import move_return_shot, move_shot

_FULL = 100.0 - 1e-9
"""A score that ends the game; a part of 100, so many times, may be less by rounding."""

Rule: TypeAlias = Callable[[Scene, np.random.Generator], Events]
"""Moves something for a part of a tick; an event of 100 or -100 points ends the game."""


class Play:
    """One episode."""

    def __init__(self, scene: Scene, *, score: float = 0.0, steps: int = 0) -> None:
        self.scene, self.score, self.steps = scene, score, steps
        self.won = self.lost = False
        self._rules = tuple(_rules(scene.game))

    def step(self, right: float, down: float, *, shoot: bool, chance: np.random.Generator) -> float:
        """The points of a step in which the player moves, -1 to 1 of its speed, or shoots."""
        before = self.score
        command(self.scene, right, down, shoot=shoot)
        for _ in range(TICKS * self.scene.parts):
            self._move(chance)
            if self.won or self.lost:
                break
        self.steps += 1
        return self.score - before

    @property
    def late(self) -> bool:
        """As long as it may be."""
        return self.steps >= self.scene.game.meta.max_episode_length

    @property
    def over(self) -> bool:
        """Won, lost or late."""
        return self.won or self.lost or self.late

    def _move(self, chance: np.random.Generator) -> None:
        for rule in self._rules:
            for points in rule(self.scene, chance):
                self.score += points
                self.won = max(points, self.score) >= _FULL
                self.lost = not self.won and min(points, self.score) <= -_FULL
                if self.won or self.lost:
                    return


def _rules(game: Game) -> list[Rule]:
    """Only those of what the game has."""
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
