"""`bakeoff.toml` defines what is played, and by which agents."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Annotated, Any, Self, TypeAlias

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    JsonValue,
    PlainValidator,
    ValidationError,
    model_validator,
)

from glue_server.host_settings import got_and_wanted
from reglue.errors import CannotLoad, UnknownName, UsageError, flag, joined, settings_of
from reglue.tools.keyword_words import parsed
from reglue.tools.text_file import read_text
from reglue_bench.bakeoff.entrant import Entrant
from reglue_bench.benchmark.toml_file import TomlFile
from reglue_bench.plan_settings import PlanSettings
from reglue_bench.settings import (
    AGENT_WAIT,
    LOCAL,
    AgentSettings,
    ExecutionSettings,
    Settings,
    read_settings,
)

BENCHMARK = {
    *("name", "training_seeds"),
    *ExecutionSettings.model_fields,
    *PlanSettings.model_fields,
} - {"benchmark"}
"""Keys of the table [benchmark]."""

REPORT = "report.html"
"""Beside the agents' folders."""

_NAME = re.compile(r"[A-Za-z0-9][\w.-]*", re.ASCII)


def _read_argument(value: object) -> object:
    """A value that the command line can have, too. Raises ValueError."""
    if not isinstance(value, str | bool | int | float):
        raise ValueError(f"got {value!r}, wanted a string, a boolean or a number")
    return value


_Argument: TypeAlias = Annotated[str | bool | int | float, PlainValidator(_read_argument)]


class _Agent(AgentSettings):
    """A table `[agents.NAME]`."""

    model_config = ConfigDict(strict=True)

    agent_args: dict[str, _Argument] = Field(default_factory=dict)  # type: ignore[assignment] # TOML's types
    """Keywords of the agent's constructor."""

    wait: bool = False  # for an agent that connects by itself
    token_env: str | None = None  # the environment variable that holds the token of one that waits
    token_file: str | None = None  # or the file

    @model_validator(mode="after")
    def _one_way(self) -> Self:
        ways = [self.agent, self.agent_cmd, self.wait or None]
        if sum(way is not None for way in ways) != 1:
            raise ValueError("wanted one of agent, agent_cmd and wait = true")
        if self.agent == AGENT_WAIT:
            raise ValueError('got agent = "wait", wanted wait = true')
        if self.agent_args and self.agent is None:
            raise ValueError(
                "agent_args belongs to `agent`; write arguments of a program into agent_cmd"
            )
        if self.token_env is not None and self.token_file is not None:
            raise ValueError("got token_env and token_file, wanted one of them")
        if not self.wait and (self.token_env or self.token_file):
            raise ValueError("a token is for an agent that connects by itself: add wait = true")
        return self


class _File(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    benchmark: dict[str, JsonValue]
    agents: dict[str, _Agent]


def read_bakeoff(path: Path, hosting: Mapping[str, object]) -> list[Entrant]:
    """The agents that the file names, in its order, each with the settings of its run.

    With `training_seeds`, one that trains, or is told its seed, is there as often. Relative paths
    in the file are relative to its folder. `hosting` are settings of the command line: where and
    how agents dial in. Raises UsageError that names file, table and key.
    """
    read_settings(benchmark="", **hosting)  # so that mistakes on the command line name flags
    file = _checked(path, TomlFile.read(path).tables)
    about, seeds = _benchmark(path, file.benchmark)
    if len(file.agents) < 2:
        raise UsageError(
            path,
            got=f"{len(file.agents)} of the tables [agents.NAME]",
            wanted="two or more; `reglue bench` plays one agent",
        )
    folder = path.resolve().parent
    common = {**about, **hosting, "directory": str(folder)}
    with settings_of(f"{path}: [benchmark]", about.keys() - hosting.keys()):
        entrants = [
            _entrant(path, name, table, {**common, "hidden": _files_of_others(path, name, file)})
            for name, table in file.agents.items()
        ]
    if seeds is None:
        return entrants
    runs, tables = list[Entrant](), dict[str, str]()  # tables: of each run, by its name
    for each in entrants:
        for run in _over_seeds(path, each, seeds):
            other = tables.setdefault(run.name, each.name)
            if other != each.name:
                raise UsageError(
                    path,
                    got=f"[agents.{other}] and [agents.{each.name}] with a run called {run.name}",
                    wanted="another name for one of them",
                )
            runs.append(run)
    return runs


def _over_seeds(path: Path, entrant: Entrant, seeds: int) -> Iterable[Entrant]:
    """Its runs: one, if another training seed would change nothing. Raises UsageError."""
    if not entrant.depends_on_seed:
        return [entrant]
    if entrant.token is not None:
        raise UsageError(
            f"{path}: [agents.{entrant.name}]: got {entrant.token_from} and training_seeds, wanted "
            "no token: each training seed's run is joined by its own, which is printed"
        )
    return entrant.over_seeds(seeds)


def _files_of_others(path: Path, name: str, file: _File) -> list[Path]:
    """The files that a sandbox hides from an agent: this one, tokens, other agents' programs."""
    folder = path.resolve().parent
    tokens = {folder / each.token_file for each in file.agents.values() if each.token_file}
    others = {each for table in file.agents.values() for each in _named_files(folder, table)}
    return sorted({path.resolve()} | tokens | (others - _named_files(folder, file.agents[name])))


def _named_files(folder: Path, table: _Agent) -> set[Path]:
    """Files beside ours that a table names: `file.py` of `file.py:Class`, words of a command."""
    words = [table.agent or "", *(table.agent_cmd or "").split()]
    files = {folder / (word.rpartition(":")[0] or word) for word in words}
    return {each for each in files if each.is_file() and each.is_relative_to(folder)}


def _checked(path: Path, tables: Mapping[str, Any]) -> _File:
    try:
        return _File.model_validate(tables)
    except ValidationError as error:
        raise joined([_mistake(path, each) for each in error.errors()]) from error


def _benchmark(path: Path, table: dict[str, JsonValue]) -> tuple[dict[str, JsonValue], int | None]:
    """Settings of all runs, and the number of training seeds if it is given. Raises UsageError."""
    for key in table:
        if key not in BENCHMARK:
            raise UsageError(f"{path}: [benchmark]: {UnknownName('key', key, BENCHMARK)}")
    if "name" not in table:
        raise UsageError(f'{path}: [benchmark] name: is missing; write one such as "MT10"')
    about = {"benchmark" if key == "name" else key: value for key, value in table.items()}
    seeds = about.pop("training_seeds", None)
    if seeds is not None and (type(seeds) is not int or seeds < 1):
        wanted = "a number of training seeds, from 1"
        raise UsageError(path, "[benchmark] training_seeds", got=repr(seeds), wanted=wanted)
    try:
        Settings.model_validate(about, strict=True)
    except ValidationError as error:
        problems = [{**each, "loc": ("benchmark", *each["loc"])} for each in error.errors()]
        raise joined([_mistake(path, each) for each in problems]) from error
    return about, seeds


def _entrant(path: Path, name: str, table: _Agent, about: dict[str, Any]) -> Entrant:
    if not _NAME.fullmatch(name) or name.startswith(REPORT):
        raise UsageError(
            path,
            got=f"[agents.{json.dumps(name, ensure_ascii=False)}]",
            wanted=(
                f"a name of letters (a to z), digits and _.-, other than {REPORT}, as it "
                "names the agent's folder; `label` may say anything"
            ),
        )
    copied = {"engine", "processes"} & about.keys() if table.wait else set()
    without = [
        f"{flag(key)} {about[key]}" for key in sorted(copied) if about[key] not in (LOCAL, 1)
    ]
    about = {key: value for key, value in about.items() if key not in copied}
    from_table = table.model_dump(include=set(AgentSettings.model_fields)) | {
        "agent": AGENT_WAIT if table.wait else table.agent,
        "agent_args": {key: _word(value) for key, value in table.agent_args.items()},
        "label": name if table.label is None else table.label,
    }
    with settings_of(
        f"{path}: [agents.{name}]", from_table
    ):  # flags may not go with keys of the file
        settings = read_settings(**about | from_table)
    return Entrant(name, settings, *_token(path, name, table), plays_without=tuple(without))


def _word(value: str | float) -> str:
    """The value as it is typed on the command line: `reglue join` parses it to the same value."""
    with suppress(CannotLoad):
        if isinstance(value, str) and parsed("", value) == value:
            return value
    return json.dumps(value)


def _token(path: Path, name: str, table: _Agent) -> tuple[str | None, str]:
    """The token, and where it was found. Raises UsageError if there is none."""
    if table.token_env is not None:
        where, token = f"${table.token_env}", os.environ.get(table.token_env, "")
    elif table.token_file is not None:
        file = path.resolve().parent / table.token_file
        where = str(file)
        try:
            token = read_text(file).strip()
        except UsageError as error:
            raise UsageError(f"{path}: [agents.{name}] token_file: {error}") from error
    else:
        return None, ""
    if not token:
        key = "token_env" if table.token_env is not None else "token_file"
        raise UsageError(f"{path}: [agents.{name}] {key}: {where} holds no token")
    return token, where


def _mistake(path: Path, problem: Any) -> UsageError:
    """For what pydantic found: file, table, key, what it got and wanted."""
    place = [str(part) for part in problem["loc"]]
    depth = 2 if place[0] == "agents" else 1
    table, key = ".".join(place[:depth]), ".".join(place[depth : depth + 2])
    if problem["type"] == "extra_forbidden":
        *outer, got = place
        known = _Agent.model_fields if outer else _File.model_fields
        where = f"[{'.'.join(outer)}]" if outer else ""
        return UsageError(path, where, UnknownName("key" if outer else "table", got, known))
    if problem["type"] == "missing":
        return UsageError(path, f"there is no table [{table}]")
    what, facts = got_and_wanted(problem)
    return UsageError(path, f"[{table}] {key}".rstrip(), what, **facts)
