"""Benchmarks of one's own, as TOML files.

    procedure = "multi-task"       # or meta-learning, online
    num_episodes = 20              # this and more: what `reglue bench` has as flags
    split = "test"                 # which of the variants below are played
    horizon = 200                  # steps to truncation, where the environment has more or none
    sees = ["observation"]         # tensors that agents see (default: all)

    [tasks.reach]                  # what a table leaves out is the file's own `environment`
    environment = "gymnasium:FetchReach-v4"    # as in online:ENVIRONMENT, or a schedule's file
    arguments = { goals = 50 }                 # keywords of the environment
    variants = { train = "0-39", test = "40-49" }    # numbers, or "first-last" (default: all)

Paths are relative to the file's folder.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import tomli_w
from pydantic import BaseModel, ConfigDict, JsonValue, ValidationError

from env_adapters import SuiteName
from env_adapters.configs.lines import line_of
from env_adapters.suites import suite_name
from reglue.errors import UnknownName, UsageError
from reglue_bench.plan import Plan
from reglue_bench.procedures import PARAMETERS

SUFFIX = ".toml"

COMPOSED = "env_adapters.composed:Composed"

_Numbers = list[int | str] | str


def is_custom(benchmark: str) -> bool:
    """Whether it is a file, not PROCEDURE:ENVIRONMENT whose environment is one."""
    return benchmark.endswith(SUFFIX) and benchmark.partition(":")[0] not in PARAMETERS


class Task(BaseModel):
    """A table `[tasks.NAME]`."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    environment: str | None = None
    arguments: dict[str, JsonValue] = {}
    task: str | None = None  # what the environment calls it; else NAME, or its only one
    variants: _Numbers | dict[str, _Numbers] | None = None


class BenchmarkFile(BaseModel):
    """The whole file. What else it holds are settings, which are checked with all others."""

    model_config = ConfigDict(frozen=True, extra="allow", strict=True)

    procedure: str
    horizon: int = 0
    sees: list[str] | None = None
    environment: str | None = None  # of tasks that name none; all of its tasks, if none is named
    arguments: dict[str, JsonValue] = {}
    tasks: dict[str, Task] = {}

    @property
    def settings(self) -> Mapping[str, Any]:
        """Fields of Settings."""
        return self.model_extra or {}


@dataclass(frozen=True, slots=True)
class Custom:
    """A benchmark of one's own, read."""

    name: str
    procedure: str
    suite: SuiteName
    settings: Mapping[str, Any]


def read_custom(path: Path, split: str | None) -> Custom:
    """The benchmark in a file, with the variants of `split`.

    Raises UsageError: what is wrong, and on which line.
    """
    text, file = _checked(path)
    if not file.tasks and not file.horizon and file.sees is None:
        return Custom(path.stem, file.procedure, _suite(file, path), file.settings)
    tasks = {}
    for name, task in _tasks(file, path).items():
        where = f"{path}:{line_of(text, f'tasks.{name}')}: tasks.{name}"
        try:
            tasks[name] = _source(name, task, file, path.parent, split)
        except UsageError as error:
            raise UsageError(f"{where}: {error}") from error
    config = {"tasks": tasks, "horizon": file.horizon, "sees": file.sees}
    return Custom(path.stem, file.procedure, SuiteName(COMPOSED, config), file.settings)


def custom_settings(path: Path) -> Mapping[str, Any]:
    """What the file says of settings. Raises UsageError."""
    return _checked(path)[1].settings


def described(plan: Plan) -> str:
    """The plan as such a file: whoever plays that plays the same cells."""
    names = PARAMETERS[plan.procedure]
    table = {
        "procedure": plan.procedure,
        "seed": plan.seed,
        **{name: plan.parameters[name] for name in names if name in plan.parameters},
        "environment": plan.suite.factory,
        "arguments": _without_none(plan.suite.config),
    }
    if plan.procedure == "multi-task":
        table["slots"] = plan.slots
    return tomli_w.dumps(table)


def _without_none(value: Any) -> Any:
    """TOML has no word for it, and what is left out is None."""
    if isinstance(value, Mapping):
        return {key: _without_none(each) for key, each in value.items() if each is not None}
    return value


def _checked(path: Path) -> tuple[str, BenchmarkFile]:
    try:
        text = path.read_text(encoding="utf-8")
        tables = tomllib.loads(text)
        if "schedule" in tables and "procedure" not in tables:
            raise UsageError(f"{path} is a schedule, wanted a benchmark: play it as online:{path}")
        file = BenchmarkFile.model_validate(tables)
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}") from error
    except ValidationError as error:
        told = "; ".join(_words(path, text, each) for each in error.errors())
        raise UsageError(told) from error
    except ValueError as error:
        raise UsageError(f"{path} is not TOML: {error}") from error
    if file.procedure not in PARAMETERS:
        line = line_of(text, "procedure")
        raise UsageError(f"{path}:{line}: {UnknownName('procedure', file.procedure, PARAMETERS)}")
    if not file.tasks and file.environment is None:
        raise UsageError(f"{path}: got no tasks, wanted `environment`, or tables [tasks.NAME]")
    return text, file


def _words(path: Path, text: str, problem: Any) -> str:
    place = ".".join(
        str(each) for each in problem["loc"] if not str(each).startswith(("list[", "dict["))
    )
    got = "" if problem["type"] == "missing" else f" (got {problem['input']!r})"
    return f"{path}:{line_of(text, place)}: {place}: {problem['msg']}{got}"


def _suite(file: BenchmarkFile, path: Path) -> SuiteName:
    assert file.environment is not None, "_checked has seen to it"
    return suite_name(_located(file.environment, path.parent), file.arguments)


def _tasks(file: BenchmarkFile, path: Path) -> Mapping[str, Task]:
    """Those that are named, else all of the file's environment."""
    return file.tasks or {name: Task() for name in _suite(file, path).build().variants}


def _source(
    name: str, task: Task, file: BenchmarkFile, folder: Path, split: str | None
) -> dict[str, Any]:
    """Where a Composed's task comes from."""
    source = file if task.environment is None else task
    if source.environment is None:
        raise UsageError("got no environment, here or at the top of the file")
    if source is file and task.arguments:
        raise UsageError("got arguments without an environment; they belong to one")
    suite = suite_name(_located(source.environment, folder), source.arguments)
    variants = suite.build().variants
    own = task.task or (name if name in variants or len(variants) > 1 else next(iter(variants)))
    if own not in variants:
        raise UnknownName(f"task of {source.environment} called", own, variants)
    numbers = _numbers(task.variants, split, variants[own])
    return {"factory": suite.factory, "config": suite.config, "task": own, "variants": numbers}


def _located(environment: str, folder: Path) -> str:
    """With paths from the file's folder."""
    file = environment.partition(":")[0]
    return str(folder / environment) if file.endswith((".py", ".toml", ".json")) else environment


def _numbers(given: Any, split: str | None, count: int) -> list[int]:
    """Of variants. Raises UsageError."""
    if isinstance(given, dict):
        if split is None or split not in given:
            wanted = " or ".join(f'split = "{each}"' for each in given)
            raise UsageError(f"got split {split!r}, wanted {wanted}")
        given = given[split]
    if given is None:
        return list(range(count))
    return [number for each in _listed(given) for number in _spread(each, count)]


def _listed(given: int | str | Sequence[int | str]) -> Sequence[int | str]:
    return [given] if isinstance(given, int | str) else given


def _spread(given: int | str, count: int) -> Sequence[int]:
    text = f"{given}-{given}" if isinstance(given, int) else given
    found = re.fullmatch(r"(\d+)-(\d+)", text)
    if found is None:
        raise UsageError(f'got the variants "{given}", wanted numbers or "first-last"')
    first, last = map(int, found.groups())
    if not first <= last < count:
        raise UsageError(f"got the variants {given}, wanted some of 0 to {count - 1}")
    return range(first, last + 1)
