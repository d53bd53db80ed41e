"""A game's config: by name, from a file or a dict, checked and made whole."""

from __future__ import annotations

import functools
import json
from collections.abc import Iterable, Mapping
from copy import deepcopy
from pathlib import Path

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from env_adapters.arcade.scene import STAND, TICKS, WALL, corridors
from env_adapters.arcade.sections import SAMPLED, Game, wanted
from env_adapters.environment_configs import JSON, check_distributions
from env_adapters.environment_configs.distributions import is_distribution
from env_adapters.environment_configs.values import ConfigError, inside
from reglue.errors import CannotLoad, UnknownName, UsageError
from reglue.tools.text_file import read_text

_FOLDER = Path(__file__).parent / "games"

GAMES = tuple(sorted(path.stem for path in _FOLDER.glob("*.json")))
"""Names of the predefined games."""


class Config(dict[str, JSON]):
    """A dict with the methods of Meta Arcade's configs."""

    def parameter_dictionary(self) -> Config:
        """The config itself: here it is the dict."""
        return self

    def copy(self) -> Config:
        """A deep copy: Meta Arcade's examples change copies."""
        return deepcopy(self)


def make_config(
    game: str | Path | dict[str, JSON], changes: Mapping[str, JSON] | None = None
) -> Config:
    """The whole config of a game, defaults filled in, as a new dict to change and pass back.

    `game` is a name out of GAMES, the path of a JSON file (ends in `.json`) or a config that
    may lack sections and keys; `changes` are sections too, whose keys replace the game's. Any
    number, colour or area may be a distribution. Raises UnknownName for a game, CannotLoad for
    a file, ConfigError for what is in it.
    """
    config = _changed(_loaded(game), {} if changes is None else changes)
    check_distributions(config)
    checked = _checked(config)
    check_maze(checked)
    return Config(checked.model_dump(mode="json", warnings=False))


def episode_config(config: JSON) -> Game:
    """The config of one episode, after all draws; draws beyond a bound are cut to it.

    Raises as `make_config`, also for a distribution.
    """
    return walkable(_checked(config, SAMPLED))


def _loaded(game: str | Path | JSON) -> JSON:
    if not isinstance(game, str | Path):
        return game
    name = str(game)
    if name in GAMES:
        return json.loads((_FOLDER / f"{name}.json").read_text())
    if not name.endswith(".json"):
        raise UnknownName("game", name, GAMES)
    try:
        return json.loads(read_text(Path(name)))
    except (UsageError, ValueError) as error:
        raise CannotLoad(f"cannot read {name} as a game's JSON file: {error}") from error


def _changed(config: JSON, changes: Mapping[str, JSON]) -> JSON:
    """`config` with the keys of `changes`; the check refuses what is not a table."""
    if not isinstance(changes, Mapping):
        raise ConfigError("changes", got=repr(changes), wanted="a table of sections")
    if not isinstance(config, dict):
        return config
    for name, section in changes.items():
        before = config.get(name, {})
        both = isinstance(before, dict) and isinstance(section, dict)
        config = {**config, name: {**before, **section} if both else section}
    return config


def _checked(config: JSON, context: str | None = None) -> Game:
    try:
        return Game.model_validate(config, context=context)
    except ValidationError as error:
        first, *_ = error.errors(include_url=False)
        raise _refusal(first) from error


def _refusal(error: ErrorDetails) -> ConfigError:
    place = error["loc"][: -1 if error["type"] == "missing" else None]
    path = functools.reduce(inside, place, "")
    if error["type"] == "extra_forbidden":
        return ConfigError(path, str(_unknown_key(*map(str, place))))
    return ConfigError(path, got=repr(error["input"]), wanted=wanted(error))


def _unknown_key(*path: str) -> UnknownName:
    *sections, key = path
    known: type[BaseModel] = Game
    for name in sections:
        known = known.model_fields[name].annotation  # type: ignore[assignment]
    what = f"key in {sections[-1]}" if sections else "section in a game's config"
    return UnknownName(what, key, known.model_fields)


def check_maze(game: Game) -> None:
    """Raise ConfigError for a maze that cannot be walked; if its size is drawn, see `walkable`.

    If the player cannot go up, the maze is a set of walls and any maze will do.
    """
    if not _is_way(game):
        return
    actions, elements = game.actions, game.game_elements
    if not (actions.down and actions.left and actions.right):
        raise ConfigError("actions", "a maze with the action up needs down, left and right too")
    if elements.top_wall and not (elements.ball or elements.blocks or elements.opponent):
        raise ConfigError(
            "game_elements.top_wall", got="true", wanted="false: the exit of a maze is at the top"
        )
    player, maze = game.player_settings, game.maze_settings
    if player.speed == 0.0:
        raise ConfigError(
            "player_settings.speed", got="0.0", wanted="more: the player walks the maze"
        )
    sizes = [player.width, player.height, player.speed, maze.rows, maze.cols, maze.thickness]
    area: Iterable[object] = maze.creation_area
    is_random = is_distribution(area) or any(map(is_distribution, [*sizes, *area]))
    if not is_random and (obstacle := _obstacle(game)):
        raise obstacle


def walkable(game: Game) -> Game:
    """The game with fewer rows and columns of maze until it can be walked, or without the maze.

    `game` has no distributions left.
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
    """The error of a maze that cannot be played, or None.

    Corridors must be as wide as the player and its motion in a step, so that it cannot
    overshoot an opening.
    """
    player, maze = game.player_settings, game.maze_settings
    aside, along = corridors(maze)
    wide = min(min(right, 1.0 - WALL) - max(left, WALL) for left, right in aside)
    high = min(bottom - top for top, bottom in along)
    step = TICKS * player.speed
    if wide < player.width + step or high < player.height + step:
        return ConfigError(
            "maze_settings",
            got=f"corridors {wide:.3g} wide and {high:.3g} high",
            wanted=(
                f"{player.width + step:.3g} and {player.height + step:.3g} (the player "
                "and one step); use fewer rows or cols, thinner walls, or a smaller or "
                "slower player"
            ),
        )
    _, y, _, height = maze.creation_area
    if y + height > STAND - player.height:
        return ConfigError(
            "maze_settings.creation_area",
            got=f"a maze that ends at {y + height:.3g}",
            wanted=f"it to end above the player, at {STAND - player.height:.3g} or less",
        )
    return None
