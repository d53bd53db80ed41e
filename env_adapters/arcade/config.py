"""A game's config: by name, from a file or a dict, checked and made whole."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from env_adapters.arcade.numbers import SAMPLED
from env_adapters.arcade.sections import Game
from env_adapters.configs import JSON, check_distributions
from env_adapters.configs.values import inside
from reglue.errors import CannotLoad, SpecError, UnknownName

_FOLDER = Path(__file__).parent / "games"

GAMES = tuple(sorted(path.stem for path in _FOLDER.glob("*.json")))
"""Names of the predefined games."""


def make_config(
    game: str | Path | dict[str, JSON], changes: Mapping[str, JSON] | None = None
) -> dict[str, JSON]:
    """The whole config of a game, defaults filled in, as a new dict to change and pass back.

    `game` is a name out of GAMES, the path of a JSON file (ends in `.json`) or a config that
    may lack sections and keys; `changes` are sections too, whose keys replace the game's. Any
    number, colour or area may be a distribution. Raises UnknownName for a game or key,
    CannotLoad for a file, SpecError or UsageError for a value.
    """
    given = _changed(_loaded(game), changes or {})
    check_distributions(given)
    config: dict[str, JSON] = _checked(given).model_dump(mode="json", warnings=False)
    return config


def episode_config(config: JSON) -> Game:
    """An episode's own, out of which everything is drawn; what was drawn too far is cut back.

    Raises as `make_config`, also for a distribution.
    """
    return _checked(config, SAMPLED)


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
        if first["type"] == "extra_forbidden":
            raise _unknown_key(first) from error
        raise SpecError(_told(first)) from error


def _unknown_key(error: ErrorDetails) -> UnknownName:
    *sections, key = map(str, error["loc"])
    known: type[BaseModel] = Game
    for name in sections:
        known = known.model_fields[name].annotation  # type: ignore[assignment]
    what = f"key in {sections[-1]}" if sections else "section in a game's config"
    return UnknownName(what, key, known.model_fields)


def _told(error: ErrorDetails) -> str:
    path = ""
    for part in error["loc"][: -1 if error["type"] == "missing" else None]:
        path = inside(path, part)
    return f"{path or 'the config'}: got {error['input']!r}, wanted {_wanted(error)}"


def _wanted(error: ErrorDetails) -> str:
    match error["type"]:
        case "string_type":
            return "text"
        case "bool_type":
            return "true or false"
        case "literal_error":
            return str(error["ctx"]["expected"])
        case "model_type" | "dict_type":
            return "a table of keys and values"
        case "tuple_type" | "too_long" | "missing":
            return "a list of numbers, as many as the default has"
        case _:
            return error["msg"]
