"""A game's config: by name, from a file or a dict, checked and made whole."""

from __future__ import annotations

import functools
import json
from collections.abc import Mapping
from copy import deepcopy
from pathlib import Path

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from env_adapters.arcade.numbers import SAMPLED, wanted
from env_adapters.arcade.sections import Game
from env_adapters.arcade.walkable import check_maze, walkable
from env_adapters.configs import JSON, check_distributions
from env_adapters.configs.values import ConfigError, inside
from reglue.errors import CannotLoad, UnknownName

_FOLDER = Path(__file__).parent / "games"

GAMES = tuple(sorted(path.stem for path in _FOLDER.glob("*.json")))
"""Names of the predefined games."""


class Config(dict[str, JSON]):
    """A dict whose `copy` shares nothing with it: Meta Arcade's examples change copies."""

    def copy(self) -> Config:
        """Deep."""
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
    given = _changed(_loaded(game), {} if changes is None else changes)
    check_distributions(given)
    checked = _checked(given)
    check_maze(checked)
    return Config(checked.model_dump(mode="json", warnings=False))


def episode_config(config: JSON) -> Game:
    """An episode's own, out of which everything is drawn; what was drawn too far is cut back.

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
        return json.loads(Path(name).read_text())
    except (OSError, ValueError) as error:
        raise CannotLoad(f"{name} is no game's JSON file: {error}") from error


def _changed(config: JSON, changes: Mapping[str, JSON]) -> JSON:
    """With the keys of `changes`; what is no table is left to the check."""
    if not isinstance(changes, Mapping):
        raise ConfigError("changes", f"got {changes!r}, wanted a table of sections")
    if not isinstance(config, dict):
        return config
    for name, section in changes.items():
        here = config.get(name, {})
        both = isinstance(here, dict) and isinstance(section, dict)
        config = {**config, name: {**here, **section} if both else section}
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
    return ConfigError(path, f"got {error['input']!r}, wanted {wanted(error)}")


def _unknown_key(*path: str) -> UnknownName:
    *sections, key = path
    known: type[BaseModel] = Game
    for name in sections:
        known = known.model_fields[name].annotation  # type: ignore[assignment]
    what = f"key in {sections[-1]}" if sections else "section in a game's config"
    return UnknownName(what, key, known.model_fields)
