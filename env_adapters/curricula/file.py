"""Schedules as TOML or JSON files.

    episodic = true
    schedule = [
        ["grey", 20],
        [{ interpolate = ["grey", "blue"] }, 10],
        [{ pool = ["arcade:breakout", "duel.json"] }, 40],
    ]

    [configs.grey]
    env = "arcade:pong"

The other keys are those of `make_curriculum`; its keywords for environments are a table,
`env_kwargs`. What `configs` names stands for its table, and a path of a `.json` file, from
the file's folder, for what it holds.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from env_adapters.configs.environments import read_config
from env_adapters.configs.lines import line_of
from env_adapters.curricula.make import make_curriculum
from env_adapters.curricula.schedule import ScheduleError
from reglue.errors import UnknownName, UsageError

_TYPES: Mapping[str, type] = {
    "schedule": list,
    "episodic": bool,
    "across_workers": int,
    "seed": int,
    "fit": str,
    "task_id": bool,
    "env_kwargs": dict,
    "configs": dict,
}


def read_schedule(path: Path) -> dict[str, Any]:
    """The arguments of a Schedule, with all that the file refers to in them.

    Raises UsageError, with the line, for what cannot be played.
    """
    text = _text(path)
    try:
        given = tomllib.loads(text) if path.suffix == ".toml" else json.loads(text)
    except ValueError as error:
        raise UsageError(f"{path}: {error}") from error
    try:
        arguments = _arguments(given, path.parent)
        make_curriculum(**made_of(arguments))[0].close()
    except ScheduleError as error:
        raise UsageError(f"{path}:{line_of(text, error.path)}: {error}") from error
    except UsageError as error:
        raise UsageError(f"{path}: {error}") from error
    return arguments


def made_of(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments of `make_curriculum`."""
    own = {key: value for key, value in arguments.items() if key != "env_kwargs"}
    return {**own, **arguments.get("env_kwargs", {})}


def _arguments(given: Any, folder: Path) -> dict[str, Any]:
    if not isinstance(given, dict) or "schedule" not in given:
        raise UsageError("got no `schedule`, wanted a list of [what, duration] under that name")
    for key, value in given.items():
        if key not in _TYPES:
            raise ScheduleError(key, str(UnknownName("key of a schedule's file", key, _TYPES)))
        if type(value) is not _TYPES[key]:
            raise ScheduleError(key, f"got {value!r}, wanted a {_TYPES[key].__name__}")
    configs = given.get("configs", {})
    arguments = {key: value for key, value in given.items() if key != "configs"}
    return {**arguments, "schedule": _resolved(given["schedule"], configs, folder)}


def _resolved(schedule: Any, configs: Mapping[str, Any], folder: Path) -> Any:
    """With what names and paths stand for in their place; what does not fit stays."""
    if not isinstance(schedule, list):
        return schedule
    return [
        [_meant(entry[0], configs, folder), *entry[1:]]
        if isinstance(entry, list) and entry
        else entry
        for entry in schedule
    ]


def _meant(what: Any, configs: Mapping[str, Any], folder: Path) -> Any:
    if isinstance(what, str) and what in configs:
        return configs[what]
    if isinstance(what, str) and what.endswith(".json"):
        return read_config(str(folder / what))
    if isinstance(what, dict):
        what = dict(what)
        for key in ("pool", "interpolate"):
            if isinstance(what.get(key), list):
                what[key] = [_meant(each, configs, folder) for each in what[key]]
        if "repeat" in what:
            what["repeat"] = _resolved(what["repeat"], configs, folder)
    return what


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, ValueError) as error:
        raise UsageError(f"{path} cannot be read: {error}") from error
