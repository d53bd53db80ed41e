"""How fine time is: nothing goes so far at once that it would be through another thing."""

from __future__ import annotations

import math

from env_adapters.arcade.body import SHOT_WIDTH
from env_adapters.arcade.sections import Game

TICKS = 2
"""In a step. Speeds in a config are sides of the screen a tick."""


def parts_of_a_tick(game: Game) -> int:
    """1, unless the player, a ball or a shot could miss in one tick what it should meet."""
    elements, player, ball = game.game_elements, game.player_settings, game.ball_settings
    opponent = game.opponent_settings.speed if elements.opponent else 0.0
    moving = elements.blocks and game.blocks_settings.static_weave_fall != "static"
    blocks = game.blocks_settings.speed if moving else 0.0
    ways = [(player.speed + blocks) / min(player.width, player.height)]
    if elements.ball:
        ways.append((ball.speed + max(player.speed, opponent, blocks)) / ball.size)
    if game.actions.fire or (elements.opponent and game.opponent_settings.can_shoot):
        ways.append(max(player.speed, opponent, blocks) / SHOT_WIDTH)
    return max(1, math.ceil(max(ways)))
