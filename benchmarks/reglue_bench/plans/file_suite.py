"""The suite of a benchmark of one's own: its tasks, from wherever they come."""

from __future__ import annotations

import inspect
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic import JsonValue

from env_adapters import Suite, SuiteName
from env_adapters.suites import suite_name
from reglue.errors import UnknownName, UsageError
from reglue.tools.loading import find
from reglue_bench.plans.file import Custom, Task
from reglue_bench.plans.keys import goal_key
from reglue_bench.plans.variant_lists import numbers

COMPOSED = "env_adapters.composed:Composed"


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
    return SuiteName(COMPOSED, config)


def _task(name: str, task: Task, custom: Custom, suites: _Suites) -> dict[str, Any]:
    """Where a Composed's task comes from."""
    about = custom.about
    source = about if task.environment is None else task
    if source is about and task.arguments:
        raise UsageError("got arguments without an environment; they belong to one")
    made, suite = suites.of(source.environment, source.arguments)
    known = suite.variants
    own = task.task or (name if name in known or len(known) > 1 else next(iter(known)))
    if own not in known:
        raise UnknownName(f"task of {source.environment} called", own, known)
    listed = numbers(task.variants, custom.settings.split or "", known[own])
    return {"suite": suites.place(made), "task": own, "variants": listed}


class _Suites:
    """The suites of a file: each is made, and stands in the plan, once."""

    def __init__(self, folder: Path, key: bytes | None) -> None:
        """`key` draws their goals; None: their seeds do."""
        self._folder = folder
        self._key = key
        self._made: dict[str, tuple[SuiteName, Suite]] = {}
        self._used: list[SuiteName] = []

    def of(
        self, environment: str | None, arguments: Mapping[str, JsonValue]
    ) -> tuple[SuiteName, Suite]:
        """By name, and made. Raises UsageError."""
        if environment is None:
            raise UsageError("got no environment, here or at the top of the file")
        try:
            key = json.dumps([environment, arguments], allow_nan=False)
        except ValueError as error:
            raise UsageError(f"arguments: got {arguments}, wanted finite numbers") from error
        if key not in self._made:
            named = suite_name(environment, arguments, self._key, folder=self._folder)
            suite = named.located(self._folder).build()
            self._made[key] = _in_order(named, self._folder), suite
        return self._made[key]

    def place(self, made: SuiteName) -> int:
        """Its place in `tables`."""
        if made not in self._used:
            self._used.append(made)
        return self._used.index(made)

    @property
    def tables(self) -> list[dict[str, Any]]:
        """Those that have a place."""
        return _tables(self._used)


def _in_order(suite: SuiteName, folder: Path) -> SuiteName:
    """Its config in the order of the factory's keywords: in TOML tables come last."""
    keywords = inspect.signature(find(suite.located(folder).factory)).parameters
    config = {name: suite.config[name] for name in keywords if name in suite.config}
    config |= suite.config
    if suite.factory == COMPOSED:
        made = [SuiteName(each["factory"], each["config"]) for each in config["suites"]]
        config["suites"] = _tables([_in_order(each, folder) for each in made])
    return SuiteName(suite.factory, config)


def _tables(suites: Sequence[SuiteName]) -> list[dict[str, Any]]:
    """As a Composed has them."""
    return [{"factory": each.factory, "config": each.config} for each in suites]
