"""Environments that configs describe.

A config is a dict with `env`, the environment's name, and the keys of its kind; values may be
distributions (`env_adapters.environment_configs.distributions`). A name alone is a config too, and
so is the path of a `.json` file that holds one.

- `gymnasium:ID`: `kwargs`, keywords of `gymnasium.make`; `physics`, see
  `env_adapters.environment_configs.physics`.
- `arcade:GAME`, or a game's name: the sections of `env_adapters.arcade`.
- any other environment of `env_adapters.suites.suite_name`, such as `MT1:reach-v3` or
  `file.py:Class`: `kwargs`, keywords of its factory; `task`, `variant`. Other keywords make a new
  environment.

Each config may have a `name`, which is `env.unwrapped.name`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import gymnasium

from env_adapters.arcade import GAMES, Arcade, make_config
from env_adapters.environment_configs.distributions import KEY, check_distributions, extremes
from env_adapters.environment_configs.physics import Physics, check_physics
from env_adapters.environment_configs.values import JSON, ConfigError, is_number
from env_adapters.gymnasium.gymnasium_suite import make
from env_adapters.gymnasium.suite_env import SuiteEnv
from env_adapters.suites import suite_name
from reglue.errors import BadArgument, UnknownName
from reglue.tools.loading import check_arguments
from reglue.tools.text_file import read_text

Env = gymnasium.Env[Any, Any]


_ARCADE = "arcade:"


class Configured:
    """An environment that is made when it is first needed, and changed to each episode's config."""

    config: dict[str, JSON]
    """The whole config, with `env`; values may be distributions."""

    _env: Any = None
    _made_with: Mapping[str, Any] | None = None

    def prepare(self, config: Mapping[str, JSON]) -> tuple[Env, dict[str, Any]]:
        """The environment for one episode, and the options of its reset.

        `config` is `self.config`, or interpolated from it, with a draw for each distribution.
        Raises UsageError if it cannot be made.
        """
        raise NotImplementedError

    def close(self) -> None:
        """Close the environment; `prepare` makes another."""
        if self._env is not None:
            self._env.close()
        self._env = None

    def _make_anew(self, kwargs: Mapping[str, Any], make: Callable[[], Any]) -> bool:
        """Make it unless it was made with these keywords; whether it was made."""
        if self._env is not None and kwargs == self._made_with:
            return False
        self.close()
        self._env, self._made_with = make(), kwargs
        return True


def configured(config: JSON, env_kwargs: Mapping[str, Any]) -> Configured:
    """The environment that `config` describes: a name, a path or a dict. It is made later.

    `env_kwargs` are keywords of every environment. Raises UsageError, such as ConfigError, for an
    illegal config.
    """
    whole = read_config(config)
    check_distributions(whole)
    name = whole["env"]
    if name.startswith(_ARCADE):
        return _Arcade(whole, env_kwargs)
    if name.startswith("gymnasium:"):
        return _Gymnasium(whole, env_kwargs)
    return _SuiteEnvironment(whole, env_kwargs)


def read_config(source: JSON) -> dict[str, JSON]:
    """A name, a path or a dict as a config: a dict with `env`.

    A game's name is the arcade's, and so is a dict without `env` that has game elements.
    Raises UsageError.
    """
    if isinstance(source, str) and source.endswith(".json"):
        source = _read_file(Path(source))
    config = {"env": source} if isinstance(source, str) else source
    if isinstance(config, dict) and "env" not in config and "game_elements" in config:
        config = {"env": _ARCADE, **config}
    if isinstance(config, dict) and config.get("env") in GAMES:
        config = {**config, "env": f"{_ARCADE}{config['env']}"}
    if not isinstance(config, dict) or not isinstance(config.get("env"), str):
        raise BadArgument(
            got=repr(source), wanted="an environment's name, or a dict with it as `env`"
        )
    if config["env"].endswith(".toml"):
        raise BadArgument(got=f"the schedule {config['env']}", wanted="an environment; `repeat` it")
    return _as_json(config)


def _as_json(config: dict[str, JSON]) -> dict[str, JSON]:
    """A copy as JSON, with lists for tuples."""
    try:
        copy: dict[str, JSON] = json.loads(json.dumps(config))
    except (TypeError, ValueError) as error:
        raise BadArgument(f"got a config that is no JSON: {error}") from error
    return copy


def _read_file(path: Path) -> JSON:
    text = read_text(path)
    try:
        return json.loads(text)
    except ValueError as error:
        raise BadArgument(f"{path} is no JSON: {error}") from error


class _Arcade(Configured):
    """`arcade:GAME`, changed by the config's sections: each episode has its own config."""

    def __init__(self, config: dict[str, JSON], env_kwargs: Mapping[str, Any]) -> None:
        game = config["env"].removeprefix(_ARCADE)
        sections = _sections(config)
        whole = make_config(game, sections) if game else make_config(sections)
        self.config = {"env": _ARCADE, "name": config.get("name", game or "arcade"), **whole}
        self._env_kwargs = env_kwargs

    def prepare(self, config: Mapping[str, JSON]) -> tuple[Env, dict[str, Any]]:
        if self._env is None:
            check_arguments("arcade", Arcade, {"config": {}, **self._env_kwargs})
            self._env = Arcade(_sections(self.config), **self._env_kwargs)
        return self._env, {"config": _sections(config)}


def _sections(config: Mapping[str, JSON]) -> dict[str, JSON]:
    return {key: value for key, value in config.items() if key not in ("env", "name")}


class _Gymnasium(Configured):
    """`gymnasium:ID`. Other keywords make another environment, other physics do not."""

    def __init__(self, config: dict[str, JSON], env_kwargs: Mapping[str, Any]) -> None:
        self.config = config
        _check_keys(config, ("kwargs", "physics"))
        for end in extremes(config.get("physics", {})):
            check_physics(end, "physics")
        self._id = config["env"].removeprefix("gymnasium:")
        self._env_kwargs = env_kwargs
        self._physics: Physics | None = None

    def prepare(self, config: Mapping[str, JSON]) -> tuple[Env, dict[str, Any]]:
        kwargs = {**config.get("kwargs", {}), **self._env_kwargs}
        if self._make_anew(kwargs, lambda: make(self._id, kwargs)):
            self._physics = None
        if "physics" in config:
            self._physics = self._physics or Physics(self._env, config["env"])
            self._physics.set(config["physics"])
        return self._env, {}


class _SuiteEnvironment(Configured):
    """An environment of any suite. Other keywords make another suite."""

    def __init__(self, config: dict[str, JSON], env_kwargs: Mapping[str, Any]) -> None:
        self.config = config
        _check_keys(config, ("kwargs", "task", "variant"))
        _check_name(config["env"])
        self._env_kwargs = env_kwargs

    def prepare(self, config: Mapping[str, JSON]) -> tuple[Env, dict[str, Any]]:
        kwargs = {**config.get("kwargs", {}), **self._env_kwargs}
        self._make_anew(kwargs, lambda: SuiteEnv(suite_name(config["env"], kwargs).build()))
        return self._env, {key: config[key] for key in ("task", "variant") if key in config}


def _check_name(name: str) -> None:
    try:
        suite_name(name)
    except UnknownName as error:
        if get_close_matches(name, GAMES):
            raise UnknownName("environment", name, GAMES) from error
        raise


def _check_keys(config: Mapping[str, JSON], known: tuple[str, ...]) -> None:
    wanted = ("env", "name", *known)
    for key in config:
        if key not in wanted:
            raise ConfigError(key, str(UnknownName(f"key of {config['env']} called", key, wanted)))
    if not isinstance(config.get("kwargs", {}), dict):
        raise ConfigError("kwargs", got=repr(config["kwargs"]), wanted="a table")
    variant = config.get("variant", 0)
    is_drawn = isinstance(variant, dict) and variant.get(KEY) == "uniform"
    if not (is_number(variant) or is_drawn):
        whole = "an integer, or a uniform distribution of them"
        raise ConfigError("variant", got=repr(variant), wanted=whole)
