"""Where everything of an episode stands."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TypeAlias

from env_adapters.arcade.body import BOTTOM, TOP, WALL, Body, Rect
from env_adapters.arcade.pace import parts_of_a_tick
from env_adapters.arcade.sections import Game

Events: TypeAlias = tuple[float, ...]
"""The points of each thing that happened."""


@dataclass(slots=True)
class Scene:
    """A game's bodies and walls. An absent opponent is out of play, as a shot mostly is."""

    game: Game
    walls: list[Rect]  # barriers and maze; the edges are none
    player: Body
    opponent: Body
    shot: Body  # the player's
    return_shot: Body  # the opponent's
    balls: list[Body]
    blocks: list[Body]
    edges: Rect = field(init=False)  # nobody gets beyond; infinite where there is no wall
    worth: float = field(init=False)  # points for a block
    parts: int = field(init=False)  # of a tick

    def __post_init__(self) -> None:
        elements, points = self.game.game_elements, self.game.blocks_settings.points
        self.edges = (
            WALL,
            TOP + WALL if elements.top_wall else -math.inf,
            1.0 - WALL,
            BOTTOM - WALL if elements.bottom_wall else math.inf,
        )
        divided = 100.0 / max(1, len(self.blocks))
        self.worth = divided if isinstance(points, str) else points
        self.parts = parts_of_a_tick(self.game)

    @property
    def bodies(self) -> list[Body]:
        """All, in a fixed order."""
        one_each = (self.player, self.opponent, self.shot, self.return_shot)
        return [*one_each, *self.balls, *self.blocks]
