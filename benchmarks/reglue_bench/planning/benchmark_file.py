"""Your own benchmarks, as TOML files: read, resolved and written.

    name = "reaching"              # what reports call it (default: the file's name)
    procedure = "multi-task"       # or meta-learning, online
    num_episodes = 20              # the procedure's flags of `reglue bench`, and `slots`
    seed = 3                       # of all randomness
    split = "test"                 # which of the variants below are played
    horizon = 200                  # steps to truncation, at most the environment's limit if any
    sees = ["observation"]         # tensors that agents see (default: all)
    fit = "pad"                    # how tensors that differ between tasks are combined; or superset

    [tasks.reach]                  # a table without `environment` uses the file's
    environment = "gymnasium:FetchReach-v4"    # as in online:ENVIRONMENT, or a schedule's file
    arguments = { goals = 50 }                 # keywords of the environment
    task = "FetchReach-v4"         # its name there (default: the table's, or the only one)
    variants = { train = "0-39", test = "40-49" }    # or [1, "3-9"], unsplit (default: all)

Paths are relative to the file's folder. Flags of the command line take precedence.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Any, TypeAlias

from pydantic import BaseModel, ConfigDict, Field, JsonValue, PlainValidator, ValidationError

from env_adapters import Suite, SuiteName
from env_adapters.fitting import Fit
from env_adapters.suites import suite_name
from reglue.errors import UnknownName, UsageError, setting, settings_of
from reglue_bench.planning.toml_file import TomlFile
from reglue_bench.plans.keys import goal_key
from reglue_bench.plans.plan import Plan
from reglue_bench.procedures import ANY_PROCEDURE, PROCEDURES, parameter_names, parameter_settings
from reglue_bench.settings import Settings

COMPOSED = "env_adapters.composed:Composed"

_PLAN = ("split", *ANY_PROCEDURE)
"""Parameters of a plan besides the procedure's own."""

_SETTINGS = ("seed", "slots", *_PLAN)
"""Besides the procedure's own."""

SPLITS = ("train", "test")

_WANTED = 'wanted numbers from 0, "first-last", or a list of such'


def _read_variants(value: Any) -> Mapping[str, Sequence[range]]:
    """Variants by split; the key is empty if they are not split. Raises ValueError."""
    if not isinstance(value, dict):
        return {"": _ranges(value)}
    if not value:
        raise ValueError(f"got none, {_WANTED}")
    for split in value:
        if split not in SPLITS:
            raise ValueError(str(UnknownName("split", split, SPLITS)))
    by_split = {split: _ranges(listed) for split, listed in value.items()}
    _no_number_twice([each for ranges in by_split.values() for each in ranges])
    return by_split


Variants: TypeAlias = Annotated[Mapping[str, Sequence[range]], PlainValidator(_read_variants)]
"""Numbers by split: `"0-39"`, `[3, "5-9"]`, or `{ train = "0-39", test = "40-49" }`."""


class Task(BaseModel):
    """A table `[tasks.NAME]`."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, defer_build=True)

    environment: str | None = None
    arguments: dict[str, JsonValue] = {}
    task: str | None = None
    variants: Variants | None = None


class Benchmark(BaseModel):
    """The whole file. What else it holds are settings."""

    model_config = ConfigDict(frozen=True, extra="allow", strict=True, defer_build=True)

    name: Annotated[str, Field(min_length=1)] | None = None
    procedure: str
    horizon: Annotated[int, Field(ge=1)] | None = None
    sees: Annotated[list[str], Field(min_length=1)] | None = None
    fit: Fit | None = None  # of tensors that differ between tasks (default: equal, refuses them)
    environment: str | None = None  # of tasks that name none; all of its tasks, if none is named
    arguments: dict[str, JsonValue] = {}
    tasks: dict[str, Task] = {}

    @property
    def settings(self) -> Mapping[str, Any]:
        """The settings that the file holds, by name."""
        return self.model_extra or {}


@dataclass(frozen=True, slots=True)
class Custom:
    """A benchmark from a file."""

    file: TomlFile
    about: Benchmark
    settings: Settings  # the caller's settings, and the file's if the caller set none
    _from_file: frozenset[str]  # settings that the caller left to the file

    @property
    def name(self) -> str:
        """The name of the benchmark in reports."""
        return self.about.name or self.file.path.stem

    @property
    def changes(self) -> dict[str, JsonValue]:
        """What it changes of its environments, for all tasks and, by name, for one."""
        about = self.about
        entries: dict[str, Any] = {"horizon": about.horizon, "sees": about.sees, "fit": about.fit}
        return {
            **about.arguments,
            **{name: task.arguments for name, task in about.tasks.items() if task.arguments},
            **{name: value for name, value in entries.items() if value is not None},
        }

    @property
    def all_tasks(self) -> str:
        """The key that a mistake in all tasks together is about."""
        if self.about.fit is not None:
            return "fit"
        return "tasks" if self.about.sees is None else "sees"

    @contextmanager
    def errors_name_keys(self) -> Iterator[None]:
        """Errors about settings that the file holds name its keys, not the flags."""
        with settings_of(str(self.file.path), self._from_file):
            yield


def read_custom(path: Path, settings: Settings) -> Custom:
    """The benchmark in a file, played with the settings `settings`; no environment is made.

    Raises UsageError: what is wrong, and on which line.
    """
    file = TomlFile.read(path)
    about = _checked(file)
    _check_split(path, about, settings)
    keys = (*_SETTINGS, *parameter_names(about.procedure))
    from_file = frozenset(key for key in keys if getattr(settings, key) in (None, {}))
    defaults = {key: value for key, value in about.settings.items() if key in from_file}
    if settings.steps:  # which replace the episodes, as a run is counted in one of them
        defaults.pop("episodes", None)
    if settings.episodes:
        defaults.pop("steps", None)
    return Custom(file, about, settings.model_copy(update=defaults), from_file)


def custom_suite(custom: Custom) -> SuiteName:
    """The suite; files of Python in it are relative to the benchmark's.

    Raises UsageError: what is wrong, and on which line.
    """
    about, file = custom.about, custom.file
    suites = _Suites(file.path.parent, goal_key(custom.settings.secret))
    tasks: Mapping[str, Task] = about.tasks
    if not tasks:
        with file.at("environment"):
            whole, suite = suites.of(about.environment, about.arguments)
        if about.horizon is None and about.sees is None:
            return whole
        tasks = dict.fromkeys(suite.variants, Task())
    composed = {}
    for name, task in tasks.items():
        with file.at(f"tasks.{name}" if about.tasks else "environment"):
            composed[name] = _task(name, task, custom, suites)
    config: dict[str, Any] = {"suites": suites.tables, "tasks": composed}
    if about.horizon is not None:
        config["horizon"] = about.horizon
    if about.sees is not None:
        config["sees"] = about.sees
    if about.fit is not None:
        config["fit"] = about.fit
    return SuiteName(COMPOSED, config)


def described(plan: Plan) -> str:
    """A file that plays the same plan. Raises UsageError for what TOML cannot hold."""
    import tomli_w

    table = {
        "name": plan.benchmark,
        "procedure": plan.procedure,
        "seed": plan.seed,
        **{name: plan.parameters[name] for name in _PLAN if name in plan.parameters},
        **parameter_settings(plan),
        "environment": plan.suite.factory,
        "arguments": plan.suite.config,
    }
    if (slots := PROCEDURES[plan.procedure].slots_setting) not in table:
        table[slots] = plan.slots
    try:
        text = tomli_w.dumps(table)
    except TypeError as error:  # null
        raise UsageError(f"{plan.benchmark} cannot be written as TOML: {error}") from error
    return _with_short_arrays(text)


def _checked(file: TomlFile) -> Benchmark:
    if "schedule" in file.tables and "procedure" not in file.tables:
        raise UsageError(
            f"{file.path} is a schedule, wanted a benchmark: play it as online:{file.path}"
        )
    if isinstance(table := file.tables.get("benchmark"), dict):
        known = {*Benchmark.model_fields, *_SETTINGS}
        unknown = [str(UnknownName("key", key, known)) for key in table if key not in known]
        what = "is no table here: its keys stand at the top of the file"
        raise file.error("benchmark", "; ".join([what, *unknown]))
    try:
        about = Benchmark.model_validate(file.tables)
        Settings.model_validate({"benchmark": "", **_settings(file, about)}, strict=True)
    except ValidationError as error:
        raise file.errors(error, lambda _: Task.model_fields) from error
    if not about.tasks and about.environment is None:
        raise UsageError(file.path, got="no tasks", wanted="`environment`, or tables [tasks.NAME]")
    return about


def _settings(file: TomlFile, about: Benchmark) -> Mapping[str, Any]:
    """The file's settings. Raises UsageError for settings of another procedure."""
    with file.at("procedure"):
        PROCEDURES[about.procedure]
    known = {*Benchmark.model_fields, *_SETTINGS, *parameter_names(about.procedure)}
    for key in about.settings:
        if key not in known:
            what = f"key of {about.procedure} benchmarks called"
            raise file.error(key, UnknownName(what, key, known))
    return about.settings


def _check_split(path: Path, about: Benchmark, settings: Settings) -> None:
    """Raise UsageError for a split that would change nothing but the name."""
    is_split = any(task.variants and "" not in task.variants for task in about.tasks.values())
    if not is_split and settings.split not in (None, about.settings.get("split")):
        raise UsageError(
            f"got {setting('split', settings.split)}, but no task of {path} has variants that are "
            "split, as "
            'variants = { train = "0-39", test = "40-49" }'
        )


def _task(name: str, task: Task, custom: Custom, suites: _Suites) -> dict[str, Any]:
    """One task of a Composed: its suite, its name there, and its variants."""
    about = custom.about
    source = about if task.environment is None else task
    if source is about and task.arguments:
        raise UsageError("got arguments without an environment; they belong to one")
    made, suite = suites.of(source.environment, source.arguments)
    known = suite.variants
    task_name = task.task or (name if name in known or len(known) > 1 else next(iter(known)))
    if task_name not in known:
        raise UnknownName(f"task of {source.environment} called", task_name, known)
    listed = numbers(task.variants, custom.settings.split or "", known[task_name])
    return {"suite": suites.place(made), "task": task_name, "variants": listed}


class _Suites:
    """The suites of a file: each is made once, and is in the plan once."""

    def __init__(self, folder: Path, key: bytes | None) -> None:
        """`key` draws their goals; None: their seeds do."""
        self._folder = folder
        self._key = key
        self._made: dict[str, tuple[SuiteName, Suite]] = {}
        self._used: list[SuiteName] = []

    def of(
        self, environment: str | None, arguments: Mapping[str, JsonValue]
    ) -> tuple[SuiteName, Suite]:
        """The suite's name, and the suite. Raises UsageError."""
        if environment is None:
            raise UsageError("got no environment, here or at the top of the file")
        try:
            key = json.dumps([environment, arguments], allow_nan=False, sort_keys=True)
        except ValueError as error:
            raise UsageError("arguments", got=arguments, wanted="finite numbers") from error
        if key not in self._made:
            full_name = suite_name(environment, arguments, self._key, folder=self._folder)
            suite = full_name.located(self._folder).build()
            self._made[key] = full_name, suite
        return self._made[key]

    def place(self, made: SuiteName) -> int:
        """The index of a suite in `tables`."""
        if made not in self._used:
            self._used.append(made)
        return self._used.index(made)

    @property
    def tables(self) -> list[dict[str, Any]]:
        """The suites that tasks use."""
        return _tables(self._used)


def _tables(suites: Sequence[SuiteName]) -> list[dict[str, Any]]:
    """Suites as a Composed names them."""
    return [{"factory": each.factory, "config": each.config} for each in suites]


def numbers(variants: Mapping[str, Sequence[range]] | None, split: str, count: int) -> list[int]:
    """The variants of `split` of a task with `count`; all if none are listed. Raises UsageError."""
    if variants is None:
        return list(range(count))
    if "" not in variants and split not in variants:
        wanted = " or ".join(f'split = "{each}"' for each in variants)
        got = f'split = "{split}"' if split else "no split"
        raise UsageError(got=got, wanted=wanted)
    ranges = variants[split if split in variants else ""]
    for each in ranges:
        if each.stop > count:
            raise UsageError(got=f"variant {each.stop - 1}", wanted=f"some of 0 to {count - 1}")
    return [number for each in ranges for number in each]


def _ranges(listed: Any) -> list[range]:
    ranges = [_range(each) for each in (listed if isinstance(listed, list) else [listed])]
    if not ranges:
        raise ValueError(f"got none, {_WANTED}")
    _no_number_twice(ranges)
    return ranges


def _range(value: Any) -> range:
    if type(value) is int and value >= 0:
        return range(value, value + 1)
    match = re.fullmatch(r"(\d+)-(\d+)", value, re.ASCII) if isinstance(value, str) else None
    if match is None or int(match[1]) > int(match[2]):
        raise ValueError(f"got {value!r}, {_WANTED}")
    return range(int(match[1]), int(match[2]) + 1)


def _no_number_twice(ranges: Sequence[range]) -> None:
    ordered = sorted(ranges, key=lambda each: each.start)
    for before, after in pairwise(ordered):
        if after.start < before.stop:
            raise ValueError(f"got variant {after.start} twice, wanted each once")


def _with_short_arrays(text: str) -> str:
    """Arrays of numbers in a line each, such as goals. No string has a line's end in it."""
    return re.sub(
        r"\[\n([\s\d.,e+-]*)\]", lambda array: f"[{' '.join(array[1].split()).rstrip(',')}]", text
    )
