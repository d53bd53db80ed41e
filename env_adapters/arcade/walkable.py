"""Whether a maze can be walked: the player starts below it, fits inside, and can turn there."""

from __future__ import annotations

from collections.abc import Iterable

from env_adapters.arcade.body import STAND, WALL
from env_adapters.arcade.maze import corridors
from env_adapters.arcade.pace import TICKS
from env_adapters.arcade.sections import Game
from env_adapters.configs.distributions import is_distribution
from env_adapters.configs.values import ConfigError


def check_maze(game: Game) -> None:
    """Raise ConfigError for a maze that cannot be walked; if its size is drawn, see `walkable`.

    Where the player cannot go up, a maze is walls to look at and shoot at.
    """
    if not _is_way(game):
        return
    actions, elements = game.actions, game.game_elements
    if not (actions.down and actions.left and actions.right):
        raise ConfigError("actions", "a maze with a way up needs down, left and right too")
    if elements.top_wall and not (elements.ball or elements.blocks or elements.opponent):
        raise ConfigError(
            "game_elements.top_wall", "got true, wanted false, as a maze is left above"
        )
    player, maze = game.player_settings, game.maze_settings
    if player.speed == 0.0:
        raise ConfigError("player_settings.speed", "got 0.0, wanted more, as a maze is walked")
    sizes = [player.width, player.height, player.speed, maze.rows, maze.cols, maze.thickness]
    area: Iterable[object] = maze.creation_area
    drawn = is_distribution(area) or any(map(is_distribution, [*sizes, *area]))
    if not drawn and (obstacle := _obstacle(game)):
        raise obstacle


def walkable(game: Game) -> Game:
    """With so many rows and columns less that it can be walked, or else without the maze.

    No distribution is left in `game`.
    """
    while _is_way(game) and _obstacle(game):
        maze = game.maze_settings
        if maze.rows == maze.cols == 1:
            elements = game.game_elements.model_copy(update={"maze": False})
            return game.model_copy(update={"game_elements": elements})
        less = {"rows": max(maze.rows - 1, 1), "cols": max(maze.cols - 1, 1)}
        game = game.model_copy(update={"maze_settings": maze.model_copy(update=less)})
    return game


def _is_way(game: Game) -> bool:
    return game.game_elements.maze and game.actions.up


def _obstacle(game: Game) -> ConfigError | None:
    """What is in the way.

    Corridors are as wide as the player and what it moves in a step, so that no opening is
    passed by.
    """
    player, maze = game.player_settings, game.maze_settings
    aside, along = corridors(maze)
    wide = min(min(right, 1.0 - WALL) - max(left, WALL) for left, right in aside)
    high = min(bottom - top for top, bottom in along)
    step = TICKS * player.speed
    if wide < player.width + step or high < player.height + step:
        return ConfigError(
            "maze_settings",
            f"got corridors {wide:.3g} wide and {high:.3g} high, wanted "
            f"{player.width + step:.3g} and {player.height + step:.3g}, the player and a step of "
            "it; have fewer rows or cols, thinner walls, or a smaller or slower player",
        )
    _, y, _, height = maze.creation_area
    if y + height > STAND - player.height:
        return ConfigError(
            "maze_settings.creation_area",
            f"got a maze down to {y + height:.3g}, wanted one that "
            f"ends above the player, at {STAND - player.height:.3g}",
        )
    return None
