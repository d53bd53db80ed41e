"""Reads and checks a competition file."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from pydantic import BaseModel, ValidationError

from env_adapters.metaworld import task_set
from reglue.errors import UnknownName, UsageError, settings_of
from reglue.net.join_string import split_address
from reglue_bench.benchmark.benchmark import Benchmark, source_of
from reglue_bench.benchmark.benchmark_file import FileSource
from reglue_bench.benchmark.toml_file import Place, TomlFile, path_of
from reglue_bench.plan_settings import PlanSettings
from reglue_bench.settings import Settings
from reglue_competition.definition.models import (
    Bars,
    BenchmarkEntry,
    Definition,
    PhaseDefinition,
    Quotas,
)

FILE = "competition.toml"

OPTIONS = PlanSettings.model_fields.keys() - {"benchmark"}
"""The keys that a benchmark's table `options` may hold, except `REFUSED`."""

REFUSED: Mapping[str, str] = {
    "seed": "each phase draws its goals and episodes from a secret of its own",
    "agents": "agents connect by themselves, so none can be copied",
    "train_steps": "agents are judged here; they train before they connect",
    "eval_every": "agents are judged here; they train before they connect",
    "eval_episodes": "agents are judged here; they train before they connect",
    "recurrent_info": "its observations hold rewards and ends, which agents are not told here",
}
"""Options that no competition allows, and why."""


def read_definition(path: Path) -> Definition:
    """The competition that a file defines.

    Benchmarks' names, files and options are checked; their environments are not made. Raises
    UsageError: on which line and at which key, what it got and wanted.
    """
    file = TomlFile.read(path)
    try:
        definition = Definition.model_validate(file.tables)
    except ValidationError as error:
        raise file.errors(error, _known) from error
    _check_addresses(file, definition)
    for at, phase in enumerate(definition.phases):
        for index, entry in enumerate(phase.benchmarks):
            _check_entry(file, ("phases", at, "benchmarks", index), entry, definition)
    return definition


def entry_settings(entry: BenchmarkEntry, folder: Path) -> Settings:
    """The settings that a benchmark is played with; `folder` is the competition's.

    Raises ValidationError.
    """
    settings = {**entry.options, "benchmark": entry.benchmark, "directory": str(folder)}
    return Settings.model_validate(settings, strict=True)


_MODELS: Mapping[str, type[BaseModel]] = {
    "": Definition,
    "phases": PhaseDefinition,
    "phases.quotas": Quotas,
    "phases.benchmarks": BenchmarkEntry,
    "phases.benchmarks.admit": Bars,
}


def _known(table: Place) -> Iterator[str]:
    """The keys of a table."""
    place = ".".join(each for each in table if isinstance(each, str))
    field = Definition.model_fields.get(place)
    model = _MODELS.get(place) or (field and field.annotation)
    if isinstance(model, type) and issubclass(model, BaseModel):
        yield from model.model_fields


def _check_addresses(file: TomlFile, definition: Definition) -> None:
    for place, address in (
        ("address", definition.address),
        ("page.listen", definition.page.listen),
    ):
        with file.at(place):
            if split_address(address)[1] == 0:
                raise UsageError(got=address, wanted="the port that teams and browsers dial")
    if definition.database is not None and urlsplit(definition.database).password is not None:
        raise file.error(
            "database",
            got="a URL with a password",
            wanted="one without: this file holds no secrets; PostgreSQL's client reads ~/.pgpass",
        )


def _check_entry(file: TomlFile, place: Place, entry: BenchmarkEntry, whole: Definition) -> None:
    """Raise UsageError for a benchmark or options that no competition allows."""
    of_options = (*place, "options")
    _check_options(file, path_of(of_options), entry.options, whole)
    try:
        settings = entry_settings(entry, file.path.parent)
    except ValidationError as error:
        raise file.errors(error, within=of_options) from error
    with file.at(path_of((*place, "benchmark"))):
        source = source_of(settings)
        if source.waits:
            raise UsageError(
                got=entry.benchmark,
                wanted=(
                    "environments that the server makes: one that connects by itself could be "
                    "anybody's, and cannot be verified"
                ),
            )
        if source.is_metaworld:
            task_set(source.name, settings.split)
        if isinstance(source, FileSource):
            _check_file(source)
        with settings_of(entry.benchmark, OPTIONS):
            Benchmark.of(settings, source)


def _check_options(
    file: TomlFile, place: str, options: Mapping[str, Any], whole: Definition
) -> None:
    for key, value in options.items():
        at = f"{place}.{key}"
        if key in REFUSED:
            raise file.error(at, f"no competition has it: {REFUSED[key]}")
        if key not in OPTIONS:
            raise file.error(at, UnknownName("option", key, OPTIONS - REFUSED.keys()))
        if key == "estimator" and value != "goals":
            raise file.error(
                at,
                got=repr(value),
                wanted='"goals": Meta-World\'s own draws goals from a seed that agents can find, '
                "and plays no paired episodes",
            )
        if key in ("reveal_tasks", "instruction") and value and not whole.agents_see.tasks:
            raise file.error(at, "it shows agents their task: set agents_see.tasks = true too")


def _check_file(source: FileSource) -> None:
    """Raise UsageError for keys that a benchmark's file may not have in a competition."""
    for key in source.about.settings.keys() & REFUSED.keys():
        raise source.file.error(key, f"no competition has it: {REFUSED[key]}")
    tables = {"environment_args": source.about.environment_args}
    for name, task in source.about.tasks.items():
        tables[f"tasks.{name}.environment_args"] = task.environment_args
    for place, arguments in tables.items():
        if isinstance(arguments.get("goals"), list | dict):
            raise source.file.error(
                f"{place}.goals",
                "got goals in a list, which no secret keys: all who read the file know them; "
                "name a family that draws them, such as MT1:reach-v3 or your own",
            )
