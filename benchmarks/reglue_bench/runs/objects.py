"""An environment object, or what makes one, as a benchmark of this process."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from env_adapters.environment_suite import own_slots
from env_adapters.given_environment import given_environment
from env_adapters.given_suite import given_suite
from env_adapters.slot_checks import check_slots
from glue_server import EnvironmentCalls, EnvironmentPort, LocalEnvironmentPort, WorkersPort
from glue_server.processes.interrupts import (
    interruptible,
    raise_stop,
    raising_interrupts,
    uninterrupted,
)
from reglue.environments.environment import Environment
from reglue.environments.slot_worlds import Worlds
from reglue.error_message import brief, error_text
from reglue.errors import UsageError
from reglue_bench.benchmark.benchmark import make_plan
from reglue_bench.benchmark.declared import WAIT, Declared
from reglue_bench.plans.environment_facts import DEFAULT_SLOTS
from reglue_bench.plans.plan import Plan
from reglue_bench.settings import Settings, read_settings

PROCEDURE = "evaluate"
"""The procedure that plays an object."""


@dataclass(frozen=True, slots=True)
class OpenObject:
    """An environment of this process, started, and the plan of a run over it."""

    settings: Settings
    plan: Plan
    calls: EnvironmentCalls


@contextmanager
def opened(candidate: object, options: Mapping[str, Any]) -> Iterator[OpenObject]:
    """The environment with its plan, closed afterwards; an object that the caller gave stays open.

    `options` as in `evaluate`; `environment_args` are those of a class or function. Raises
    NotAnEnvironment; UsageError, also for `workers` if other processes cannot make it.
    """
    rest = {"directory": str(Path.cwd()), **options}  # before the object moves elsewhere
    arguments = rest.pop("environment_args", None) or {}
    workers = rest.pop("workers", None)
    suite = given_suite(candidate, arguments)
    if workers:
        suite = suite.elsewhere()
    try:
        environment, name = given_environment(
            "benchmark", candidate, arguments, name=f"{PROCEDURE}:gymnasium:CartPole-v1"
        )
    except SystemExit as error:
        raise_stop(error)
        raise UsageError(f"{brief(candidate)} cannot be made: {error_text(error)}") from error
    plain_arguments = json.loads(json.dumps(arguments, sort_keys=True, default=repr))
    # As no suite in the plan has them.
    declared = f"{name} {json.dumps(plain_arguments)}" if plain_arguments else name
    settings = read_settings(**rest, benchmark=f"{PROCEDURE}:{WAIT}")
    settings = _with_slots(settings, environment)
    if not (isinstance(environment, Worlds) or environment.separate_slots):
        with raising_interrupts(), uninterrupted():
            interruptible(lambda: _look_at(environment, settings.slots or DEFAULT_SLOTS))
    port: EnvironmentPort = LocalEnvironmentPort(environment, declared)
    if workers:
        port = WorkersPort(suite, workers=workers, name=declared)
    calls = EnvironmentCalls(port)
    try:

        def declare(slots: int) -> Declared:
            return Declared.of(calls.hello, calls.init(slots))

        plan = make_plan(settings, declare=declare)
        plan = replace(plan, benchmark=f"{PROCEDURE}:{name}", environment_args=plain_arguments)
        yield OpenObject(settings, plan, calls)
    finally:
        calls.close()


def _look_at(environment: Environment, slots: int) -> None:
    """Raise NotAnEnvironment if slots do not leave each other alone, as it says they do."""
    try:
        check_slots(environment, slots)
    except (KeyboardInterrupt, SystemExit) as error:
        raise_stop(error)  # else it raised that by itself: the run tells of it


def _with_slots(settings: Settings, environment: Environment) -> Settings:
    """The settings, by default with as many slots as the object can play; a batch's own number."""
    if not (most := environment.max_slots):
        return settings
    if settings.slots is None:
        slots = own_slots(environment) or min(most, DEFAULT_SLOTS)
        return settings.model_copy(update={"slots": slots})
    if settings.slots > most:
        raise UsageError(
            "slots",
            got=settings.slots,
            wanted=f"at most {most}: it is one object; give its class, or a name, for more",
        )
    return settings
