"""Benchmarks of one's own, as TOML files.

    name = "reaching"              # what reports call it (default: the file's name)
    procedure = "multi-task"       # or meta-learning, online
    num_episodes = 20              # the procedure's flags of `reglue bench`, and `slots`
    seed = 3                       # of all chance
    split = "test"                 # which of the variants below are played
    horizon = 200                  # steps to truncation, where the environment has more or none
    sees = ["observation"]         # tensors that agents see (default: all)

    [tasks.reach]                  # what a table leaves out is the file's own `environment`
    environment = "gymnasium:FetchReach-v4"    # as in online:ENVIRONMENT, or a schedule's file
    arguments = { goals = 50 }                 # keywords of the environment
    task = "FetchReach-v4"         # its name there (default: the table's, or the only one)
    variants = { train = "0-39", test = "40-49" }    # or [1, "3-9"], unsplit (default: all)

Paths are relative to the file's folder. Flags of the command line go first.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, JsonValue, ValidationError

from reglue.errors import UnknownName, UsageError
from reglue_bench.plans.toml_file import TomlFile
from reglue_bench.plans.variant_lists import Variants
from reglue_bench.procedures import SCORING, parameter_names, procedure_class
from reglue_bench.settings import Settings, as_keys

_SETTINGS = ("seed", "slots", "split", *SCORING)
"""Besides the procedure's own."""


class Task(BaseModel):
    """A table `[tasks.NAME]`."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    environment: str | None = None
    arguments: dict[str, JsonValue] = {}
    task: str | None = None
    variants: Variants | None = None


class Benchmark(BaseModel):
    """The whole file. What else it holds are settings."""

    model_config = ConfigDict(frozen=True, extra="allow", strict=True)

    name: Annotated[str, Field(min_length=1)] | None = None
    procedure: str
    horizon: Annotated[int, Field(ge=1)] | None = None
    sees: Annotated[list[str], Field(min_length=1)] | None = None
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

    file: TomlFile
    about: Benchmark
    settings: Settings  # those that were given, and the file's where none was
    _unasked: frozenset[str]  # settings that were not given, so that they are the file's

    @property
    def name(self) -> str:
        """What reports call it."""
        return self.about.name or self.file.path.stem

    @property
    def all_tasks(self) -> str:
        """The key that a mistake in all tasks together is about."""
        return "tasks" if self.about.sees is None else "sees"

    @contextmanager
    def told(self) -> Iterator[None]:
        """Has errors about settings that are the file's name its keys, not the flags."""
        with as_keys(str(self.file.path), self._unasked):
            yield


def read_custom(path: Path, given: Settings) -> Custom:
    """The benchmark in a file, played as `given`; its environments are not looked at.

    Raises UsageError: what is wrong, and on which line.
    """
    file = TomlFile.read(path)
    about = _checked(file)
    _check_split(path, about, given)
    keys = (*_SETTINGS, *parameter_names(about.procedure))
    unasked = frozenset(key for key in keys if getattr(given, key) is None)
    held = {key: value for key, value in about.settings.items() if key in unasked}
    if given.steps:  # which replace the episodes, as a run is counted in one of them
        held.pop("episodes", None)
    if given.episodes:
        held.pop("steps", None)
    return Custom(file, about, given.model_copy(update=held), unasked)


def _checked(file: TomlFile) -> Benchmark:
    if "schedule" in file.tables and "procedure" not in file.tables:
        raise UsageError(
            f"{file.path} is a schedule, wanted a benchmark: play it as online:{file.path}"
        )
    try:
        about = Benchmark.model_validate(file.tables)
        Settings.model_validate({"benchmark": "", **_settings(file, about)}, strict=True)
    except ValidationError as error:
        raise file.errors(error, Task.model_fields) from error
    if not about.tasks and about.environment is None:
        raise UsageError(f"{file.path}: got no tasks, wanted `environment`, or tables [tasks.NAME]")
    return about


def _settings(file: TomlFile, about: Benchmark) -> Mapping[str, Any]:
    """Those of the file. Raises UsageError for what is none of its procedure."""
    with file.at("procedure"):
        procedure_class(about.procedure)
    known = {*Benchmark.model_fields, *_SETTINGS, *parameter_names(about.procedure)}
    for key in about.settings:
        if key not in known:
            what = f"key of {about.procedure} benchmarks called"
            raise file.error(key, UnknownName(what, key, known))
    return about.settings


def _check_split(path: Path, about: Benchmark, given: Settings) -> None:
    """Raise UsageError for a split that would change nothing but what it is called."""
    is_split = any(task.variants and "" not in task.variants for task in about.tasks.values())
    if not is_split and given.split not in (None, about.settings.get("split")):
        raise UsageError(
            f"got --split {given.split}, but no task of {path} has variants that are split, as "
            'variants = { train = "0-39", test = "40-49" }'
        )
