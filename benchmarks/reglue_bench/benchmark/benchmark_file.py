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
    environment_args = { goals = 50 }          # keywords of the environment
    task = "FetchReach-v4"         # its name there (default: the table's, or the only one)
    variants = { train = "0-39", test = "40-49" }    # or [1, "3-9"], unsplit (default: all)

Paths are relative to the file's folder. Flags of the command line take precedence.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Self

from pydantic import BaseModel, ConfigDict, Field, JsonValue, ValidationError

from env_adapters import Suite, SuiteName
from env_adapters.fitting import Fit
from env_adapters.suite_names import COMPOSED
from env_adapters.suites import calls_server, is_known, suite_name
from reglue.environments.world import close_suite
from reglue.errors import UnknownName, UsageError, setting, settings_of
from reglue_bench.benchmark.benchmark_source import (
    Means,
    Source,
    check_no_metaworld,
    facts_of,
    named_source,
)
from reglue_bench.benchmark.toml_file import TomlFile
from reglue_bench.benchmark.variant_lists import Variants, numbers
from reglue_bench.plan_settings import PlanSettings
from reglue_bench.plans.environment_facts import EnvironmentFacts
from reglue_bench.plans.plan import Plan, difference
from reglue_bench.procedures import (
    ANY_PROCEDURE,
    PROCEDURES,
    parameter_names,
    parameter_settings,
)
from reglue_bench.settings import Settings

_PLAN = ("split", *ANY_PROCEDURE)
"""Parameters of a plan besides the procedure's own."""

_SETTINGS = ("seed", "slots", *_PLAN)
"""Besides the procedure's own."""


class Task(BaseModel):
    """A table `[tasks.NAME]`."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, defer_build=True)

    environment: str | None = None
    environment_args: dict[str, JsonValue] = {}
    task: str | None = None
    variants: Variants | None = None


class BenchmarkTable(BaseModel):
    """The whole file. What else it holds are settings."""

    model_config = ConfigDict(frozen=True, extra="allow", strict=True, defer_build=True)

    name: Annotated[str, Field(min_length=1)] | None = None
    procedure: str
    horizon: Annotated[int, Field(ge=1)] | None = None
    sees: Annotated[list[str], Field(min_length=1)] | None = None
    fit: Fit | None = None  # of tensors that differ between tasks (default: equal, refuses them)
    environment: str | None = None  # of tasks that name none; all of its tasks, if none is named
    environment_args: dict[str, JsonValue] = {}
    tasks: dict[str, Task] = {}

    @property
    def composition(self) -> dict[str, Any]:
        """The settings of all tasks: `horizon`, `sees` and `fit`, if given."""
        entries = {"horizon": self.horizon, "sees": self.sees, "fit": self.fit}
        return {name: value for name, value in entries.items() if value is not None}

    @property
    def settings(self) -> Mapping[str, Any]:
        """The settings that the file holds, by name."""
        return self.model_extra or {}


@dataclass(frozen=True, slots=True)
class FileSource(Source):
    """The environments of a benchmark's file; files of Python are relative to the file's folder."""

    file: TomlFile
    about: BenchmarkTable
    settings: PlanSettings  # the caller's settings, and the file's if the caller set none
    _from_file: frozenset[str]  # settings that the caller left to the file

    @classmethod
    def read(cls, path: Path, settings: PlanSettings) -> Self:
        """The benchmark in a file, played with the settings `settings`; no environment is made.

        Raises UsageError: what is wrong, and on which line.
        """
        settings = settings.of_plan()
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
        name = about.name or path.stem
        chosen = settings.model_copy(update=defaults)
        return cls(name, about.procedure, path.parent, file, about, chosen, from_file)

    @property
    def calls_server(self) -> bool:
        """Whether one of its tasks' environments does."""
        names = [self.about.environment, *(each.environment for each in self.about.tasks.values())]
        return any(map(calls_server, filter(None, names)))

    def accepted(self, settings: PlanSettings) -> PlanSettings:
        """The caller's, then the file's."""
        with self._errors_name_keys():
            return Source.accepted(self, self.settings)

    def check(self, settings: PlanSettings) -> None:
        """It holds its arguments, and may have a split."""
        if settings.environment_args:
            raise UsageError(
                f"{setting('environment_args')}: {settings.benchmark} holds them itself"
            )
        check_no_metaworld(settings, "split")

    def facts(self, settings: PlanSettings, means: Means) -> EnvironmentFacts:
        """Make each suite once, and compose what is played of them."""
        parameters = {} if settings.split is None else {"split": settings.split}
        with self._errors_name_keys():
            with _Suites(self.folder, means.key) as suites:
                suite = self._suite(settings, suites)
            with self.file.at(self._all_tasks), suite.located(self.folder).opened() as made:
                return facts_of(suite, made, parameters=parameters, changed=self._changes)

    def plan(
        self, settings: PlanSettings, means: Means, cells: str
    ) -> tuple[Plan, EnvironmentFacts]:
        """The plan, which no built-in benchmark of the same name has otherwise."""
        with self._errors_name_keys():
            plan, facts = Source.plan(self, settings, means, cells)
        self._check_name(plan)
        return plan, facts

    def _errors_name_keys(self) -> AbstractContextManager[None]:
        """Errors name the file's keys, where the caller gave no setting."""
        return settings_of(str(self.file.path), self._from_file)

    def _check_name(self, plan: Plan) -> None:
        """Raise UsageError if a file that is called like a built-in benchmark plays another."""
        try:
            named = named_source(plan.benchmark)
        except UsageError:
            return
        is_built_in = named.is_metaworld or is_known(named.environment)
        if is_built_in and (lines := _unlike(plan, named)):
            raise UsageError(
                f"{self.settings.benchmark} is called {plan.benchmark}, but differs from the "
                f"built-in benchmark of that name: {'; '.join(lines)}; give it another `name`"
            )

    @property
    def _changes(self) -> dict[str, JsonValue]:
        """Its changes of its environments, for all tasks and, by name, for one."""
        about = self.about
        return {
            **about.environment_args,
            **{
                name: task.environment_args
                for name, task in about.tasks.items()
                if task.environment_args
            },
            **about.composition,
        }

    @property
    def _all_tasks(self) -> str:
        """The key that a mistake in all tasks together is about."""
        if self.about.fit is not None:
            return "fit"
        return "tasks" if self.about.sees is None else "sees"

    def _suite(self, settings: PlanSettings, suites: _Suites) -> SuiteName:
        """The suite. Raises UsageError: what is wrong, and on which line."""
        about, file = self.about, self.file
        tasks: Mapping[str, Task] = about.tasks
        if not tasks:
            with file.at("environment"):
                whole, suite = suites.of(about.environment, about.environment_args)
            if about.horizon is None and about.sees is None:
                return whole
            tasks = dict.fromkeys(suite.variants, Task())
        composed = {}
        for name, task in tasks.items():
            with file.at(f"tasks.{name}" if about.tasks else "environment"):
                composed[name] = _task(name, task, about, settings.split or "", suites)
        return SuiteName(
            COMPOSED, {"suites": suites.tables, "tasks": composed, **about.composition}
        )


def described(plan: Plan) -> str:
    """A file that plays the same plan. Raises UsageError for values that TOML cannot hold."""
    import tomli_w

    table = {
        "name": plan.benchmark,
        "procedure": plan.procedure,
        "seed": plan.seed,
        **{name: plan.parameters[name] for name in _PLAN if name in plan.parameters},
        **parameter_settings(plan),
        "environment": plan.suite.factory,
        "environment_args": plan.suite.config,
    }
    if (slots := PROCEDURES[plan.procedure].slots_setting) not in table:
        table[slots] = plan.slots
    try:
        text = tomli_w.dumps(table)
    except TypeError as error:  # null
        raise UsageError(f"{plan.benchmark} cannot be written as TOML: {error}") from error
    return _with_short_arrays(text)


def _checked(file: TomlFile) -> BenchmarkTable:
    if "schedule" in file.tables and "procedure" not in file.tables:
        raise UsageError(
            f"{file.path} is a schedule, wanted a benchmark: play it as online:{file.path}"
        )
    if isinstance(table := file.tables.get("benchmark"), dict):
        known = {*BenchmarkTable.model_fields, *_SETTINGS}
        unknown = [str(UnknownName("key", key, known)) for key in table if key not in known]
        what = "is no table here: its keys stand at the top of the file"
        raise file.error("benchmark", "; ".join([what, *unknown]))
    _check_no_old_name(file)
    try:
        about = BenchmarkTable.model_validate(file.tables)
        Settings.model_validate({"benchmark": "", **_settings(file, about)}, strict=True)
    except ValidationError as error:
        raise file.errors(error, lambda _: Task.model_fields) from error
    if not about.tasks and about.environment is None:
        raise UsageError(file.path, got="no tasks", wanted="`environment`, or tables [tasks.NAME]")
    return about


def _check_no_old_name(file: TomlFile) -> None:
    """Raise UsageError for `arguments`, which were keywords of the environment once."""
    tasks = file.tables.get("tasks")
    tables = {"": file.tables, **{f"tasks.{name}.": each for name, each in _items(tasks)}}
    for place, table in tables.items():
        if isinstance(table, dict) and "arguments" in table:
            key = f"{place}arguments"
            raise file.error(key, "is now called `environment_args`, as everywhere: rename it")


def _items(table: object) -> Iterator[tuple[str, Any]]:
    yield from table.items() if isinstance(table, dict) else ()


def _settings(file: TomlFile, about: BenchmarkTable) -> Mapping[str, Any]:
    """The file's settings. Raises UsageError for settings of another procedure."""
    with file.at("procedure"):
        PROCEDURES[about.procedure]
    known = {*BenchmarkTable.model_fields, *_SETTINGS, *parameter_names(about.procedure)}
    for key in about.settings:
        if key not in known:
            what = f"key of {about.procedure} benchmarks called"
            raise file.error(key, UnknownName(what, key, known))
    return about.settings


def _check_split(path: Path, about: BenchmarkTable, settings: PlanSettings) -> None:
    """Raise UsageError for a split that would change nothing but the name."""
    is_split = any(task.variants and "" not in task.variants for task in about.tasks.values())
    if not is_split and settings.split not in (None, about.settings.get("split")):
        raise UsageError(
            f"got {setting('split', settings.split)}, but no task of {path} has variants that are "
            "split, as "
            'variants = { train = "0-39", test = "40-49" }'
        )


def _task(
    name: str, task: Task, about: BenchmarkTable, split: str, suites: _Suites
) -> dict[str, Any]:
    """One task of a Composed: its suite, its name there, and its variants."""
    source = about if task.environment is None else task
    if source is about and task.environment_args:
        raise UsageError("got environment_args without an environment; they belong to one")
    made, suite = suites.of(source.environment, source.environment_args)
    known = suite.variants
    task_name = task.task or (name if name in known or len(known) > 1 else next(iter(known)))
    if task_name not in known:
        raise UnknownName(f"task of {source.environment} called", task_name, known)
    listed = numbers(task.variants, split, known[task_name])
    return {"suite": suites.place(made), "task": task_name, "variants": listed}


class _Suites:
    """The suites of a file: each is made once, and is in the plan once."""

    def __init__(self, folder: Path, key: bytes | None) -> None:
        """`key` draws their goals; None: their seeds do."""
        self._folder = folder
        self._key = key
        self._made: dict[str, tuple[SuiteName, Suite]] = {}
        self._used: list[SuiteName] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for each in self._made.values():
            close_suite(each[1])

    def of(
        self, environment: str | None, arguments: Mapping[str, JsonValue]
    ) -> tuple[SuiteName, Suite]:
        """The suite's name, and the suite. Raises UsageError."""
        if environment is None:
            raise UsageError("got no environment, here or at the top of the file")
        try:
            key = json.dumps([environment, arguments], allow_nan=False, sort_keys=True)
        except ValueError as error:
            raise UsageError("environment_args", got=arguments, wanted="finite numbers") from error
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
        return [{"factory": each.factory, "config": each.config} for each in self._used]


def _unlike(plan: Plan, source: Source) -> list[str]:
    """Differences of a plan from the one of the same settings that its name has without a file."""
    arguments: dict[str, Any] = {"seed": plan.seed}
    if source.procedure == plan.procedure:
        arguments |= {name: plan.parameters[name] for name in _PLAN if name in plan.parameters}
        arguments |= {**parameter_settings(plan), "slots": plan.slots}
    settings = PlanSettings(benchmark=plan.benchmark, **arguments)
    try:
        built_in, _ = source.plan(settings, Means(), plan.cells)
        return difference(built_in, plan, called=("built in", "here"))
    except UsageError as error:  # it cannot be played so
        return [str(error)]


def _with_short_arrays(text: str) -> str:
    """Arrays of numbers in a line each, such as goals. No string has a line's end in it."""
    return re.sub(
        r"\[\n([\s\d.,e+-]*)\]", lambda array: f"[{' '.join(array[1].split()).rstrip(',')}]", text
    )
