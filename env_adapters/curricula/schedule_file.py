"""Schedules as TOML or JSON files.

    episodic = true
    schedule = [
        ["grey", 20],
        [{ interpolate = ["grey", "blue"] }, 10],
        [{ pool = ["arcade:breakout", "duel.json"] }, 40],
    ]

    [configs.grey]
    env = "arcade:pong"

The other keys are those of `make_curriculum`; durations count episodes unless `episodic` is
false. Keywords for environments are a table, `env_kwargs`. A name in `configs` is replaced by its
table, and the path of a `.json` file by its content. Paths, also of `file.py:Class`, are relative
to the folder of the file that holds them.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from env_adapters.configured import configured, read_config
from env_adapters.curricula.curriculum import make_curriculum
from env_adapters.curricula.environment_cache import errors_at
from env_adapters.environment_configs.lines import line_of
from env_adapters.environment_configs.values import ConfigError, inside
from reglue.errors import BadArgument, UnknownName, UsageError
from reglue.tools.text_file import read_text

_TYPES: Mapping[str, tuple[type, str]] = {
    "schedule": (list, "a list of [what, duration]"),
    "episodic": (bool, "true or false"),
    "across_workers": (int, "an integer"),
    "seed": (int, "an integer"),
    "fit": (str, "text"),
    "task_id": (bool, "true or false"),
    "env_kwargs": (dict, "a table"),
    "configs": (dict, "a table"),
}

_OWN_FILE = re.compile(r"[^:]+\.py:")

_ENTRY = re.compile(r"((?:^schedule|\.repeat)\[\d+\])(?=\.)")


def read_schedule(path: Path) -> dict[str, Any]:
    """The arguments of a Schedule, including the content of every file that the schedule refers
    to. Raises UsageError, with the line, if the schedule cannot be played.
    """
    text = read_text(path)
    try:
        content = tomllib.loads(text) if path.suffix == ".toml" else json.loads(text)
    except (ValueError, RecursionError) as error:
        raise BadArgument(f"{path}: {error}") from error
    try:
        arguments = _arguments(content, path.parent)
        make_curriculum(**curriculum_arguments(arguments))[0].close()
    except ConfigError as error:
        line = line_of(text, _ENTRY.sub(r"\1[0]", error.path))  # `what` of [what, duration]
        raise BadArgument(f"{path}:{line}: {error}") from error
    return arguments


def curriculum_arguments(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments of `make_curriculum`."""
    top_level = {key: value for key, value in arguments.items() if key != "env_kwargs"}
    return {**top_level, **arguments.get("env_kwargs", {})}


def _arguments(content: Any, folder: Path) -> dict[str, Any]:
    if not isinstance(content, dict) or "schedule" not in content:
        wanted = "wanted a list of [what, duration] under that name"
        raise ConfigError("schedule", f"got none, {wanted}")
    for key, value in content.items():
        if key not in _TYPES:
            raise ConfigError(key, str(UnknownName("key of a schedule's file called", key, _TYPES)))
        kind, wanted = _TYPES[key]
        if type(value) is not kind:
            raise ConfigError(key, got=repr(value), wanted=wanted)
    for key in content.get("env_kwargs", {}):
        if key in (*_TYPES, "key_readers", "primary_interpreter"):
            raise ConfigError(
                f"env_kwargs.{key}", got="a key of the file", wanted="environments' keywords"
            )
    _check_configs(content)
    configs = content.get("configs", {})
    arguments = {key: value for key, value in content.items() if key != "configs"}
    schedule = _replace_in_schedule(content["schedule"], configs, folder, "schedule")
    return {"episodic": True, **arguments, "schedule": schedule}


def _check_configs(content: Mapping[str, Any]) -> None:
    for name, config in content.get("configs", {}).items():
        with errors_at(f"configs.{name}"):
            configured(config, content.get("env_kwargs", {}))


def _replace_in_schedule(schedule: Any, configs: Mapping[str, Any], folder: Path, path: str) -> Any:
    """Names and paths replaced by their configs; illegal entries do not change."""
    if not isinstance(schedule, list):
        return schedule
    return [
        [_replace_names(entry[0], configs, folder, inside(path, place)), *entry[1:]]
        if isinstance(entry, list) and entry
        else entry
        for place, entry in enumerate(schedule)
    ]


def _replace_names(what: Any, configs: Mapping[str, Any], folder: Path, path: str) -> Any:
    if isinstance(what, str) and what in configs:
        return _with_path(configs[what], folder)
    if isinstance(what, str) and what.endswith(".json"):
        with errors_at(path):
            return _with_path(_read_config(folder / what), (folder / what).parent)
    if isinstance(what, dict):
        what = dict(what)
        for key in ("pool", "interpolate"):
            if isinstance(what.get(key), list):
                what[key] = [
                    _replace_names(each, configs, folder, inside(f"{path}.{key}", place))
                    for place, each in enumerate(what[key])
                ]
        if "repeat" in what:
            what["repeat"] = _replace_in_schedule(what["repeat"], configs, folder, f"{path}.repeat")
    return _with_path(what, folder)


def _with_path(config: Any, folder: Path) -> Any:
    """An environment's file by its path from the working directory."""
    if isinstance(config, str) and _OWN_FILE.match(config):
        return str(folder / config)
    if isinstance(config, dict) and "env" in config:
        return {**config, "env": _with_path(config["env"], folder)}
    return config


def _read_config(file: Path) -> Any:
    config = read_config(str(file))
    try:
        configured(config, {})
    except UsageError as error:
        raise BadArgument(f"{file}: {error}") from error
    return config
