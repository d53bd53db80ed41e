"""Any environment as a benchmark: `PROCEDURE:ENVIRONMENT`, such as `online:mountain-car`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from env_adapters import Suite, SuiteName
from env_adapters.suites import suite_name
from reglue.errors import UsageError
from reglue_bench.plans.declared import Declared
from reglue_bench.plans.file import read_custom
from reglue_bench.plans.file_suite import custom_suite
from reglue_bench.plans.keys import goal_key
from reglue_bench.plans.parameters import (
    check_parameters,
    chosen,
    metaworld_parameters,
    own_parameters,
    slots,
    worst_performance,
)
from reglue_bench.plans.plan import Parameter, Plan
from reglue_bench.plans.suites import build
from reglue_bench.settings import Settings, flag

METAWORLD_ONLY = (
    "split",
    "estimator",
    "episode_horizon",
    "one_hot",
    "goal_visible",
    "recurrent_info",
    "observation_dtype",
    "reveal_tasks",
)
"""Settings that Meta-World's environments take, and no others."""


Declare = Callable[[int], Declared]
"""Waits for the environment that dials in and begins it with so many slots."""


def environment_plan(settings: Settings, procedure: str, name: str) -> Plan:
    """The plan of playing the environment called `name` by a procedure.

    Raises UsageError for an environment that cannot be had, or be played so.
    """
    check_parameters(settings, procedure)
    _check_settings(settings)
    named = _named(settings, name)
    suite = build(named.located(Path(settings.directory)))
    own = own_parameters(settings, procedure, suite.variants)
    _check_continuing(name, own, continuing=suite.spec.continuing)
    _check_counted(name, procedure, suite)
    own |= _scoring(settings, procedure, own, suite)
    return _plan(settings, procedure, own, named, suite.variants)


def custom_plan(settings: Settings) -> Plan:
    """The plan of a benchmark of one's own, which `settings` names by its file.

    Raises UsageError: what is wrong, and on which line of the file.
    """
    path = Path(settings.directory) / settings.benchmark
    custom = read_custom(path, settings)
    settings, procedure = custom.settings, custom.about.procedure
    with custom.told():
        check_parameters(settings, procedure)
        _check_settings(settings, besides=("split",))
        if settings.environment_args:
            raise UsageError(f"--environment-arg: {settings.benchmark} holds them, as `arguments`")
        named = custom_suite(custom)
        with custom.file.at("tasks" if custom.about.sees is None else "sees"):
            suite = build(named.located(path.parent))
        own = own_parameters(settings, procedure, suite.variants)
        _check_continuing(custom.name, own, continuing=suite.spec.continuing)
        _check_counted(custom.name, procedure, suite)
        own |= _scoring(settings, procedure, own, suite)
        if settings.split is not None:
            own = {"split": settings.split, **own}
        plan = _plan(settings, procedure, own, named, suite.variants)
    return replace(plan, benchmark=custom.name)


def remote_plan(settings: Settings, procedure: str, declare: Declare | None) -> Plan:
    """The plan of playing the environment that dials in. Raises UsageError, EnvironmentFault."""
    check_parameters(settings, procedure)
    _check_settings(settings)
    _check_remote(settings)
    if declare is None:
        raise UsageError(
            f"{settings.benchmark} waits for an environment to dial in: only `reglue bench` does; "
            f"name one that is made here, such as {procedure}:file.py:Class"
        )
    own_parameters(settings, procedure, {"any": 1})  # what cannot be is refused before the wait
    declared = declare(slots(settings, procedure))
    own = own_parameters(settings, procedure, declared.variants)
    _check_continuing(declared.name, own, continuing=declared.continuing)
    low, horizon = declared.reward_low, declared.horizon
    own |= worst_performance(settings, own, reward_low=low, horizon=horizon)
    own |= _judged_by(procedure, tells_success=declared.tells_success)
    own = {"environment": declared.name, **own}
    return _plan(settings, procedure, own, declared.suite, declared.variants)


def _scoring(
    settings: Settings, procedure: str, own: Mapping[str, Parameter], suite: Suite
) -> dict[str, Parameter]:
    low, horizon = suite.spec.reward_range[0], suite.spec.horizon
    found = worst_performance(settings, own, reward_low=low, horizon=horizon)
    return found | _judged_by(procedure, tells_success=getattr(suite, "tells_success", True))


def _judged_by(procedure: str, *, tells_success: bool) -> dict[str, Parameter]:
    """By success, unless that is never told; learning is judged by returns or rewards always."""
    return {} if tells_success or procedure == "online" else {"judged_by": "return"}


def _plan(
    settings: Settings,
    procedure: str,
    own: Mapping[str, Parameter],
    suite: SuiteName,
    variants: Mapping[str, int],
) -> Plan:
    return Plan(
        benchmark=settings.benchmark,
        procedure=procedure,
        parameters={**own, **metaworld_parameters(suite)},
        seed=chosen(settings.seed, 0),
        slots=slots(settings, procedure),
        suite=suite,
        variants=dict(variants),
    )


def _named(settings: Settings, name: str) -> SuiteName:
    key, folder = goal_key(settings.secret), Path(settings.directory)
    return suite_name(name, settings.environment_args, key, folder=folder)


def _check_settings(settings: Settings, besides: Sequence[str] = ()) -> None:
    for name in METAWORLD_ONLY:
        if name not in besides and getattr(settings, name) != Settings.model_fields[name].default:
            raise UsageError(
                f"{flag(name)} is for Meta-World's benchmarks; give {settings.benchmark} its "
                "environment's own arguments with --environment-arg KEY=VALUE"
            )


def _check_remote(settings: Settings) -> None:
    """Raise UsageError for what only environments that are made here take."""
    for name, given in (
        ("environment_arg", settings.environment_args),
        ("workers", settings.workers is not None),
    ):
        if given:
            raise UsageError(
                f"{flag(name)} is for environments that are made here; {settings.benchmark} has "
                "one that dials in"
            )


def _check_continuing(name: str, own: Mapping[str, Parameter], *, continuing: bool) -> None:
    if continuing and not own.get("steps"):
        raise UsageError(
            f"{name} is a continuing task, one episode that never ends: give --steps N "
            "(online benchmarks), which is how long a run is"
        )


def _check_counted(name: str, procedure: str, suite: Suite) -> None:
    if procedure != "online" and getattr(suite, "counts_steps", False):
        raise UsageError(
            f"{name} has a schedule that is counted in steps, which only online benchmarks count: "
            "play it as one, or have the schedule count episodes (episodic = true)"
        )
