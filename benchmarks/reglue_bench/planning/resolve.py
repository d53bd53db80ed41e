"""Makes a run's plan from its settings: first its environments, then the plan."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from itertools import chain
from pathlib import Path
from typing import Any

from env_adapters import SuiteName
from env_adapters.metaworld import TaskSet, task_set
from env_adapters.suites import META_WORLD, suite_name
from reglue.errors import UsageError, setting
from reglue.wire.sizes import most_slots
from reglue_bench.float_range import within
from reglue_bench.plan_settings import HiddenSettings, MetaWorldSettings
from reglue_bench.planning.benchmark_file import Custom, custom_suite, read_custom
from reglue_bench.planning.declared import Declared
from reglue_bench.planning.names import WAIT, BenchmarkName, is_custom
from reglue_bench.planning.training_plan import with_training, with_training_tasks
from reglue_bench.plans.keys import cell_key, commitment, goal_key
from reglue_bench.plans.plan import Goals, Parameter, Plan, difference
from reglue_bench.procedures import (
    ANY_PROCEDURE,
    PROCEDURES,
    TRAINING,
    parameter_names,
    parameter_settings,
    procedure_of,
)
from reglue_bench.procedures.procedure import Procedure, or_default
from reglue_bench.settings import Settings

DEFAULT_SLOTS = 10

_MOST_SLOTS = 500
_REPEATABLE = ("multi-task", "meta-learning")
"""Procedures that compare agents on the same goals, which an environment must repeat."""
"""The most slots of Meta-World's benchmarks by default: 500 take little longer than 10."""

Drawing = Callable[[int, int], None]
"""Told how many tasks have their goals, and how many there are."""

Declare = Callable[[int], Declared]
"""Waits for the environment that connects, and starts it with this many slots."""


@dataclass(frozen=True, slots=True)
class Resolved:
    """What a plan is made of besides settings: the environments that a benchmark plays."""

    suite: SuiteName  # relative files in it are the settings' folder's, or the benchmark file's
    variants: Mapping[str, int]  # task -> how many it has, in the order of tasks
    reward_low: float  # of one step; -inf: no bound
    horizon: int  # steps to truncation; 0: no limit
    continuing: bool
    tells_success: bool
    most_slots: int  # that fit into a message
    counts_steps: bool = False  # its cells need the run's steps
    parameters: Mapping[str, Parameter] = field(default_factory=dict)  # that it adds to the plan
    privileged: tuple[str, ...] = ()  # what agents see that the benchmark hides
    changed: Mapping[str, Any] = field(default_factory=dict)  # of what the name means


def make_plan(
    settings: Settings, drawing: Drawing | None = None, declare: Declare | None = None
) -> Plan:
    """The plan of a run; its goals and cells are keyed by the settings' secret, if there is one.

    `declare` waits for an environment that connects by itself. Raises UsageError for settings
    that the benchmark cannot be played with, and what `declare` raises.
    """
    name, custom = BenchmarkName.parse(settings.benchmark), None
    procedure, called = name.procedure, name.name
    if is_custom(name.name):
        custom = read_custom(Path(settings.directory) / name.name, settings)
        settings, procedure, called = custom.settings, custom.about.procedure, custom.name
    with custom.errors_name_keys() if custom else nullcontext():
        check_settings(settings, name, procedure)
        resolved = (
            _declared(settings, procedure, declare)
            if name.waits
            else resolve(settings, name, custom, drawing)
        )
        plan = _plan(settings, procedure, called, resolved, is_metaworld=name.is_metaworld)
    if custom is not None:
        _check_name(plan, settings.benchmark)
    if settings.train_steps is None:
        return plan
    goals = None
    if resolved.parameters.get("split") == "test":
        settings = settings.model_copy(update={"split": "train"})
        custom = custom and replace(custom, settings=settings)
        trained = resolve(settings, name, custom, drawing)
        goals = Goals(trained.suite, trained.variants)
    return with_training(plan, settings, goals)


def resolve(
    settings: Settings,
    name: BenchmarkName,
    custom: Custom | None = None,
    drawing: Drawing | None = None,
) -> Resolved:
    """The environments that a benchmark plays, which are made here. Raises UsageError."""
    folder = Path(settings.directory)
    parameters: dict[str, Parameter] = {}
    privileged: tuple[str, ...] = ()
    arguments = changed = settings.environment_args
    if custom is not None:
        suite, folder = custom_suite(custom), custom.file.path.parent
        changed = custom.changes
        if settings.split is not None:
            parameters["split"] = settings.split
    else:
        if name.is_metaworld:
            tasks = task_set(name.name, settings.split)
            parameters["split"], arguments = tasks.split, _metaworld_arguments(settings, tasks)
            privileged, changed = _privileged(settings, tasks), _metaworld_changes(settings)
        key, environment = goal_key(settings.secret), name.environment or name.name
        suite = suite_name(environment, arguments, key, folder=folder, on_goals_drawn=drawing)
    with custom.file.at(custom.all_tasks) if custom else nullcontext():
        made = suite.located(folder).build()
    return Resolved(
        suite=suite,
        variants=dict(made.variants),
        reward_low=made.spec.reward_range[0],
        horizon=made.spec.horizon,
        continuing=made.spec.continuing,
        tells_success=getattr(made, "tells_success", True),
        most_slots=max(1, most_slots(made.spec)),
        counts_steps=getattr(made, "counts_steps", False),
        parameters=parameters,
        privileged=privileged,
        changed=changed,
    )


def suite_of(plan: Plan, settings: Settings) -> SuiteName:
    """The plan's, as it is made here; also with what is trained on."""
    folder = Path(settings.directory)
    if is_custom(settings.benchmark):
        folder = (folder / settings.benchmark).parent
    suite = plan.suite if plan.training is None else with_training_tasks(plan.suite, plan)
    return suite.located(folder)


def _plan(
    settings: Settings, procedure: str, called: str, resolved: Resolved, *, is_metaworld: bool
) -> Plan:
    procedure_type = PROCEDURES[procedure]
    parameters = procedure_type.parameters(settings, resolved.variants)
    _check_playable(called, procedure, parameters, resolved)
    if not resolved.horizon:
        parameters = procedure_type.without_horizon() | parameters
    if settings.estimator != "goals":
        parameters = {"estimator": settings.estimator, **parameters}
    parameters |= _worst_performance(
        settings, parameters, reward_low=resolved.reward_low, horizon=resolved.horizon
    )
    parameters |= procedure_type.judged_by(tells_success=resolved.tells_success)
    parameters |= _hidden(settings, procedure_type)
    config = resolved.suite.config if resolved.suite.factory == META_WORLD else {}
    most = min(DEFAULT_SLOTS, resolved.most_slots)
    if is_metaworld:  # more slots than episodes would stay idle
        most = min(_MOST_SLOTS, len(resolved.variants) * int(parameters.get("num_episodes", 1)))
    if settings.train_steps is not None:  # each has its share of them
        most = min(most, max(DEFAULT_SLOTS, len(resolved.variants)))
    plan = Plan(
        benchmark=called,
        procedure=procedure,
        parameters={
            **resolved.parameters,
            **parameters,
            **{name: value for name, value in config.items() if name != "goals"},
        },
        seed=or_default(settings.seed, 0),
        slots=procedure_type.slots(settings, most),
        suite=resolved.suite,
        variants=dict(resolved.variants),
        privileged=resolved.privileged,
        cells=commitment(cell_key(settings.secret)),
        environment_args=resolved.changed,
    )
    procedure_of(plan)  # refuses what cannot be divided as upstream does
    return plan


def _worst_performance(
    settings: Settings, parameters: Mapping[str, Parameter], *, reward_low: float, horizon: int
) -> dict[str, Parameter]:
    """What a run, or a judged episode, is worth that ends by its agent's own fault.

    What was declared; else the least that the measure can give, so that no agent gains by
    giving up: the least reward where runs are counted in steps; else the least return, of a
    single step where rewards cannot be negative, of the longest episode where they can.
    Nothing if there is no such bound.
    """
    if settings.worst_performance is not None:
        return {"worst_performance": settings.worst_performance}
    longest = min((int(n) for n in (horizon, parameters.get("episode_limit", 0)) if n), default=0)
    if not math.isfinite(reward_low) or (reward_low < 0 and not (longest or "steps" in parameters)):
        return {}
    is_single = "steps" in parameters or reward_low >= 0
    return {"worst_performance": within(reward_low if is_single else reward_low * longest)}


def _hidden(settings: Settings, procedure: type[Procedure]) -> dict[str, Parameter]:
    """What to hide from agents. Raises UsageError if they could not play, or know it anyway."""
    if settings.hide_rewards and not procedure.hides_rewards:
        raise UsageError(
            f"got {setting('hide_rewards')} for {settings.benchmark}, whose agents learn from "
            "rewards while they are judged: omit it"
        )
    if settings.hide_rewards and settings.recurrent_info:
        raise UsageError(
            f"got {setting('hide_rewards')} and {setting('recurrent_info')}, which shows rewards "
            "in observations: give one of them"
        )
    return {name: True for name in HiddenSettings.model_fields if getattr(settings, name)}


def _declared(settings: Settings, procedure: str, declare: Declare | None) -> Resolved:
    """The environment that connects by itself. Raises UsageError, EnvironmentFault."""
    if declare is None:
        raise UsageError(
            f"{settings.benchmark} waits for an environment to connect: only `reglue bench` does; "
            f"name one that is made here, such as {procedure}:file.py:Class"
        )
    procedure_type = PROCEDURES[procedure]
    procedure_type.parameters(settings, {"any": 1})  # refuses what cannot be before the wait
    declared = declare(procedure_type.slots(settings, DEFAULT_SLOTS))
    if procedure in _REPEATABLE and not declared.repeatable:
        raise UsageError(
            got=f"{procedure}: of {declared.name}, which says that it is not repeatable",
            wanted=f"evaluate:{WAIT}, as {procedure} compares agents on the same goals",
        )
    return Resolved(
        suite=declared.suite,
        variants=declared.variants,
        reward_low=declared.reward_low,
        horizon=declared.horizon,
        continuing=declared.continuing,
        tells_success=declared.tells_success,
        most_slots=DEFAULT_SLOTS,  # it was started with the plan's
        parameters={"environment": declared.name},
    )


def _metaworld_arguments(settings: Settings, tasks: TaskSet) -> dict[str, Any]:
    several = tasks.family == "MT" and len(tasks.tasks) > 1
    return {
        "seed": or_default(settings.seed, 0),
        "split": settings.split,
        "goal_visible": or_default(settings.goal_visible, tasks.goal_visible),
        "one_hot": or_default(settings.one_hot, several),
        "recurrent_info": settings.recurrent_info,
        "horizon": settings.episode_horizon,
        "observation_dtype": settings.observation_dtype,
        "reveal_tasks": settings.reveal_tasks,
    }


def _metaworld_changes(settings: Settings) -> dict[str, Any]:
    """The settings that differ from the benchmark's own, except how goals are drawn."""
    return {
        name: value
        for name in MetaWorldSettings.model_fields
        if (value := getattr(settings, name)) != Settings.model_fields[name].default
        and name != "estimator"
    }


def _privileged(settings: Settings, tasks: TaskSet) -> tuple[str, ...]:
    privileged = []
    if settings.reveal_tasks or (settings.one_hot and tasks.family == "ML"):
        privileged.append("tasks")
    if settings.goal_visible and not tasks.goal_visible:
        privileged.append("goals")
    return tuple(privileged)


def check_settings(settings: Settings, name: BenchmarkName, procedure: str) -> None:
    """Raise UsageError for settings of other procedures or benchmarks; no environment is made."""
    _check_parameters(settings, procedure)
    _check_settings(settings, name)


def _check_parameters(settings: Settings, procedure: str) -> None:
    """Raise UsageError for a parameter of another procedure."""
    accepted = parameter_names(procedure)
    others = {each: parameter_names(each) for each in PROCEDURES.built_in if each != TRAINING}
    for name in (*chain.from_iterable(others.values()), "procedure_args"):
        if name not in accepted and getattr(settings, name) not in (None, {}):
            whose = [other for other, names in others.items() if name in names]
            theirs = " and ".join(whose) or "other packages'"
            raise UsageError(
                f"{setting(name)} belongs to {theirs} benchmarks; {settings.benchmark} is "
                f"{procedure}, which takes {', '.join(map(setting, accepted))}"
            )


def _check_settings(settings: Settings, name: BenchmarkName) -> None:
    """Raise UsageError for settings that other benchmarks take."""
    called = settings.benchmark
    if settings.environment_args and is_custom(called):
        raise UsageError(f"{setting('environment_args')}: {called} holds them, as `arguments`")
    if settings.environment_args and name.is_metaworld:
        raise UsageError(
            f"{setting('environment_args')} is for PROCEDURE:ENVIRONMENT, such as "
            f"online:mountain-car; {called} has settings of its own"
        )
    if not name.is_metaworld:
        for only in MetaWorldSettings.model_fields:
            is_given = getattr(settings, only) != Settings.model_fields[only].default
            if is_given and not (only == "split" and is_custom(called)):
                raise UsageError(
                    f"{setting(only)} is for Meta-World's benchmarks; give {called} its "
                    f"environment's own arguments by {setting('environment_args')}"
                )
    for only, value in (
        ("environment_args", settings.environment_args),
        ("workers", settings.workers is not None),
    ):
        if name.waits and value:
            raise UsageError(
                f"{setting(only)} is for environments that are made here; {called} has one that "
                "connects by itself"
            )


def _check_playable(
    called: str, procedure: str, parameters: Mapping[str, Parameter], resolved: Resolved
) -> None:
    """Raise UsageError for environments that the procedure cannot play."""
    procedure_type = PROCEDURES[procedure]
    if resolved.continuing and not parameters.keys() & procedure_type.endless.keys():
        raise UsageError(
            f"{resolved.parameters.get('environment', called)} is a continuing task, one episode "
            f"that never ends: give {setting('steps', 'N')} (online benchmarks), which is how "
            "long a run is"
        )
    if resolved.counts_steps and not procedure_type.counts_steps:
        raise UsageError(
            f"{called} has a schedule that is counted in steps, which only online benchmarks "
            "count: play it as one, or have the schedule count episodes (episodic = true)"
        )


def _check_name(plan: Plan, file: str) -> None:
    """Raise UsageError if a file that is called like a built-in benchmark plays another."""
    try:
        name = BenchmarkName.parse(plan.benchmark)
    except UsageError:
        return
    if not name.is_built_in:
        return
    arguments: dict[str, Any] = {"seed": plan.seed}
    if name.procedure == plan.procedure:
        parameters = plan.parameters.items()
        arguments |= {
            name: value for name, value in parameters if name in ("split", *ANY_PROCEDURE)
        }
        arguments |= {**parameter_settings(plan), "slots": plan.slots}
    try:
        built_in = make_plan(Settings(benchmark=plan.benchmark, **arguments))
        lines = difference(
            built_in, replace(plan, cells=built_in.cells), called=("built in", "here")
        )
    except UsageError as error:  # it cannot be played so
        lines = [str(error)]
    if lines:
        raise UsageError(
            f"{file} is called {plan.benchmark}, but differs from the built-in benchmark of that "
            f"name: {'; '.join(lines)}; give it another `name`"
        )
