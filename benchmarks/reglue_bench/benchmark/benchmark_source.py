"""Sources of benchmarks: each kind of name knows its settings and its environments."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from env_adapters import SuiteName
from env_adapters.environment_suite import EnvironmentSuite
from env_adapters.metaworld import catalogue, task_set
from env_adapters.suites import META_WORLD as META_WORLD_FACTORY
from env_adapters.suites import calls_server, environments_like, is_known, suite_name
from reglue.environments.world import Suite
from reglue.errors import UnknownName, UsageError, setting
from reglue.wire.sizes import most_slots
from reglue_bench.benchmark.declared import WAIT, Declared
from reglue_bench.plan_settings import MetaWorldSettings, PlanSettings
from reglue_bench.plans.environment_facts import DEFAULT_SLOTS, EnvironmentFacts
from reglue_bench.plans.plan import Plan
from reglue_bench.procedures import (
    PROCEDURES,
    TRAINING,
    check_parameters,
    plan_of_facts,
    procedure_names,
)
from reglue_bench.procedures.procedure import or_default

SUFFIX = ".toml"

META_WORLD = {"MT": "multi-task", "ML": "meta-learning"}
"""The procedures of Meta-World's benchmarks."""

_MOST_SLOTS = 500
"""The most slots of Meta-World's benchmarks by default: 500 take little longer than 10."""

Drawing = Callable[[int, int], None]
"""Told how many tasks have their goals, and how many there are."""

Declare = Callable[[int], Declared]
"""Waits for the environment that connects, and starts it with this many slots."""


@dataclass(frozen=True, slots=True)
class Means:
    """With what a source makes its environments."""

    key: bytes | None = None  # draws goals; None: their seeds do
    declare: Declare | None = None
    drawing: Drawing | None = None


@dataclass(frozen=True, slots=True)
class Source(ABC):
    """The source of a benchmark's environments, and its procedure."""

    name: str  # as plans and reports have it
    procedure: str
    folder: Path  # relative paths are relative to it

    is_metaworld: ClassVar[bool] = False
    """Whether it is one of Meta-World's benchmarks, which have settings of their own."""

    waits: ClassVar[bool] = False
    """Whether its environment connects by itself."""

    @property
    def environment(self) -> str:
        """The environment's name in PROCEDURE:ENVIRONMENT; else empty."""
        return ""

    @property
    def calls_server(self) -> bool:
        """Whether its facts wait for another program's server, which may be away or silent."""
        return bool(self.environment) and calls_server(self.environment)

    def accepted(self, settings: PlanSettings) -> PlanSettings:
        """The settings that it is played with, if a caller gives these.

        Raises UsageError for settings of other benchmarks, or another procedure.
        """
        self.check(settings)
        check_parameters(settings, self.procedure)
        return settings

    @abstractmethod
    def check(self, settings: PlanSettings) -> None:
        """Raise UsageError for settings that other benchmarks take."""

    @abstractmethod
    def facts(self, settings: PlanSettings, means: Means) -> EnvironmentFacts:
        """Its environments, which are made or waited for. Raises UsageError, EnvironmentFault."""

    def plan(
        self, settings: PlanSettings, means: Means, cells: str
    ) -> tuple[Plan, EnvironmentFacts]:
        """The plan of its environments, and their facts; `cells` commits to their key.

        Raises UsageError, EnvironmentFault.
        """
        facts = self.facts(settings, means)
        return plan_of_facts(self.name, self.procedure, settings, facts, cells), facts


@dataclass(frozen=True, slots=True)
class TaskSetSource(Source):
    """A task set of Meta-World, such as `MT10`."""

    is_metaworld: ClassVar[bool] = True

    def check(self, settings: PlanSettings) -> None:
        """It has settings of its own, and takes no arguments."""
        if settings.environment_args:
            raise UsageError(
                f"{setting('environment_args')} is for PROCEDURE:ENVIRONMENT, such as "
                f"online:mountain-car; {settings.benchmark} has settings of its own"
            )

    def facts(self, settings: PlanSettings, means: Means) -> EnvironmentFacts:
        """Draw its goals."""
        tasks = task_set(self.name, settings.split)
        is_ml = tasks.family == "ML"
        privileged = {
            "tasks": settings.reveal_tasks
            or (is_ml and bool(settings.one_hot or settings.instruction)),
            "goals": settings.goal_visible and is_ml,
        }
        changed = _metaworld_given(settings)
        changed.pop("estimator", None)  # how goals are drawn
        pictures_and_words = _pictures_and_words(settings)
        config = tasks.config(
            or_default(settings.seed, 0),
            means.key,
            means.drawing,
            goal_visible=or_default(settings.goal_visible, not is_ml),
            one_hot=or_default(settings.one_hot, not is_ml and len(tasks.tasks) > 1),
            recurrent_info=settings.recurrent_info,
            horizon=settings.episode_horizon,
            observation_dtype=settings.observation_dtype,
            reveal_tasks=settings.reveal_tasks,
            **pictures_and_words,
        )
        suite = SuiteName(META_WORLD_FACTORY, config)
        with suite.opened() as made:
            return facts_of(
                suite,
                made,
                # Ten pictures take a second where the processor draws.
                **({} if settings.camera else {"most_slots": _MOST_SLOTS}),
                slots_follow_episodes=True,
                parameters={"split": tasks.split},
                privileged=tuple(name for name, shown in privileged.items() if shown),
                changed=changed,
            )


@dataclass(frozen=True, slots=True)
class EnvironmentSource(Source):
    """Any environment that is made here, as in `online:mountain-car`."""

    @property
    def environment(self) -> str:
        """The part of the name after the procedure."""
        return self.name.partition(":")[2]

    def check(self, settings: PlanSettings) -> None:
        """It takes no setting of Meta-World."""
        check_no_metaworld(settings)

    def facts(self, settings: PlanSettings, means: Means) -> EnvironmentFacts:
        """Make its suite."""
        arguments = settings.environment_args
        suite = suite_name(
            self.environment,
            arguments,
            means.key,
            folder=self.folder,
            on_goals_drawn=means.drawing,
        )
        with suite.located(self.folder).opened() as made:
            return facts_of(suite, made, changed=arguments)


@dataclass(frozen=True, slots=True)
class GivenSource(EnvironmentSource):
    """An environment that a program passes: an object, a class or a function."""

    suite: SuiteName

    def facts(self, settings: PlanSettings, means: Means) -> EnvironmentFacts:
        with self.suite.opened() as made:
            return facts_of(self.suite, made)


@dataclass(frozen=True, slots=True)
class ConnectingSource(EnvironmentSource):
    """An environment that connects by itself, as in `online:wait`."""

    waits: ClassVar[bool] = True

    def check(self, settings: PlanSettings) -> None:
        """It takes nothing that makes an environment."""
        check_no_metaworld(settings)
        if settings.environment_args:
            raise UsageError(
                f"{setting('environment_args')} is for environments that are made here; "
                f"{self.name} has one that connects by itself"
            )

    def facts(self, settings: PlanSettings, means: Means) -> EnvironmentFacts:
        """Wait for it."""
        if means.declare is None:
            raise UsageError(
                f"{self.name} waits for an environment to connect: only `reglue bench` does; "
                f"name one that is made here, such as {self.procedure}:file.py:Class"
            )
        kind = PROCEDURES[self.procedure]
        kind.parameters(settings, {"any": 1})  # refuses what cannot be before the wait
        return means.declare(kind.slots(settings, DEFAULT_SLOTS)).facts


def named_source(name: str, folder: Path = Path()) -> Source:
    """The source that a name stands for, which is no file's. Raises UsageError."""
    procedure, _, environment = name.partition(":")
    if procedure in PROCEDURES and procedure != TRAINING and environment:
        if metaworld_procedure(environment) == procedure:  # multi-task:MT10 is MT10
            return TaskSetSource(environment, procedure, folder)
        kind = ConnectingSource if environment == WAIT else EnvironmentSource
        return kind(name, procedure, folder)
    if procedure := metaworld_procedure(name):
        return TaskSetSource(name, procedure, folder)
    raise _unknown(name)


def is_file(name: str) -> bool:
    """Whether it is a benchmark's file, not PROCEDURE:ENVIRONMENT whose environment is one."""
    return name.endswith(SUFFIX) and name.partition(":")[0] not in PROCEDURES


def metaworld_procedure(name: str) -> str:
    """The procedure of a Meta-World benchmark; empty for any other name."""
    prefix = name.partition(":")[0]
    is_one = prefix in {form.partition(":")[0] for form in catalogue()}
    return META_WORLD[prefix[:2]] if is_one else ""


def check_no_metaworld(settings: PlanSettings, *besides: str) -> None:
    """Raise UsageError for a setting of Meta-World's benchmarks, `besides` these."""
    for only in _metaworld_given(settings):
        if only not in besides:
            raise UsageError(
                f"{setting(only)} is for Meta-World's benchmarks; give {settings.benchmark} its "
                f"environment's own arguments by {setting('environment_args')}"
            )


def _pictures_and_words(settings: PlanSettings) -> dict[str, Any]:
    """Arguments of suites with pictures or instructions. Those of others do not name them, as in
    plans from before there were any.
    """
    names = ("instruction", "camera", "camera_size", "camera_depth")
    given = {name: getattr(settings, name) for name in names}
    return {name: value for name, value in given.items() if value not in (None, False)}


def _metaworld_given(settings: PlanSettings) -> dict[str, Any]:
    """The settings of Meta-World's benchmarks that are not the default."""
    fields = MetaWorldSettings.model_fields.items()
    given = {name: getattr(settings, name) for name, _ in fields}
    return {name: given[name] for name, field in fields if given[name] != field.default}


def facts_of(
    suite: SuiteName, made: Suite, *, parameters: Mapping[str, Any] | None = None, **more: Any
) -> EnvironmentFacts:
    """The facts of a suite, which was made of its name."""
    config = suite.config if suite.factory == META_WORLD_FACTORY else {}
    told = {name: value for name, value in config.items() if name != "goals"}
    repeatable = bool(getattr(made, "repeatable", True))
    said = {} if repeatable else {"repeatable": False}
    max_slots = own = 0
    if isinstance(made, EnvironmentSuite):
        max_slots, own = made.max_slots, made.own_slots
        made.check_slots(max_slots or DEFAULT_SLOTS)
    most = min(own or DEFAULT_SLOTS, most_slots(made.spec), max_slots or DEFAULT_SLOTS)
    return EnvironmentFacts(
        suite=suite,
        variants=dict(made.variants),
        reward_low=made.spec.reward_range[0],
        horizon=made.spec.horizon,
        continuing=made.spec.continuing,
        tells_success=getattr(made, "tells_success", True),
        spec=made.spec,
        counts_steps=getattr(made, "counts_steps", False),
        repeatable=repeatable,
        max_slots=max_slots,
        parameters={**(parameters or {}), **told, **said},
        **{"most_slots": max(1, most), **more},
    )


_OWN_FILE = re.compile(r"[^:]+\.py:\w+")


def _unknown(name: str) -> UsageError:
    def ways(environment: str) -> str:
        return " or ".join(f"{procedure}:{environment}" for procedure in procedure_names())

    if is_known(name) or _OWN_FILE.fullmatch(name):
        return UsageError(f"{name} is an environment; say how it is played: {ways(name)}")
    if like := environments_like(name):
        return UsageError(
            f"{name} is no benchmark; did you mean the environment {like[0]}? Say how it is "
            f"played: {ways(like[0])}"
        )
    known = [
        *catalogue(),
        "online:mountain-car",
        *(f"{each}:ENVIRONMENT" for each in procedure_names()),
    ]
    return UnknownName("benchmark", name, [*known, "file.toml"])
