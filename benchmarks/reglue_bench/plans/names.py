"""From a benchmark's name and settings to the plan of a run."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from env_adapters import SuiteName
from env_adapters.metaworld import ALL_TASKS, TaskSet, catalogue, draw_goals, task_set
from env_adapters.suites import is_known
from reglue.errors import UnknownName, UsageError
from reglue_bench.plans.declared import WAIT
from reglue_bench.plans.environments import Declare, custom_plan, environment_plan, remote_plan
from reglue_bench.plans.file import is_custom
from reglue_bench.plans.keys import cell_key, commitment, goal_key
from reglue_bench.plans.parameters import (
    METAWORLD,
    check_parameters,
    chosen,
    metaworld_parameters,
    own_parameters,
    slots,
    worst_performance,
)
from reglue_bench.plans.plan import Plan, difference
from reglue_bench.procedures import PARAMETERS, SCORING, procedure_of
from reglue_bench.settings import Settings

PROCEDURES = {"MT": "multi-task", "ML": "meta-learning"}
"""How Meta-World's families are played."""

_MOST_SLOTS = 500
"""Unless more are asked for. A turn costs hardly more than for 10, and a slot next to nothing."""

Drawing = Callable[[int, int], None]
"""Told how many tasks have their goals, and how many there are."""


def make_plan(
    settings: Settings, drawing: Drawing | None = None, declare: Declare | None = None
) -> Plan:
    """The plan of a run; its goals and cells are keyed by the settings' secret, if there is one.

    `declare` brings an environment that dials in. Raises UsageError for settings that the
    benchmark cannot be played with, and what `declare` does.
    """
    plan = _plan(settings, drawing, declare)
    return replace(plan, cells=commitment(cell_key(settings.secret)))


def _plan(settings: Settings, drawing: Drawing | None, declare: Declare | None) -> Plan:
    if is_custom(settings.benchmark):
        plan = custom_plan(settings)
        _check_name(plan, settings.benchmark)
        return plan
    procedure, environment = split_name(settings.benchmark)
    if environment == WAIT:
        return remote_plan(settings, procedure, declare)
    if environment:
        return environment_plan(settings, procedure, environment)
    if settings.environment_args:
        raise UsageError(
            f"--environment-arg is for PROCEDURE:ENVIRONMENT, such as online:mountain-car; "
            f"{settings.benchmark} has flags of its own"
        )
    return _metaworld_plan(settings, drawing)


def split_name(benchmark: str) -> tuple[str, str]:
    """Its procedure, and its environment unless it is one of Meta-World's benchmarks.

    Both are empty where a file says what they are. Raises UsageError where it is neither.
    """
    if is_custom(benchmark):
        return "", ""
    kind, _, environment = benchmark.partition(":")
    if kind in PARAMETERS and environment:
        return kind, environment
    if kind in {name.partition(":")[0] for name in catalogue()}:
        return PROCEDURES[kind[:2]], ""
    if is_known(benchmark):
        ways = " or ".join(f"{each}:{benchmark}" for each in PARAMETERS)
        raise UsageError(f"{benchmark} is an environment; say how it is played: {ways}")
    if re.fullmatch(r"([\w.-]+/)?[\w.-]+-v\d+", benchmark):
        environment = f"MT1:{benchmark}" if benchmark in ALL_TASKS else f"gymnasium:{benchmark}"
        raise UsageError(
            f"{benchmark} is no benchmark; did you mean the environment {environment}? Say how it "
            f"is played: {' or '.join(f'{each}:{environment}' for each in PARAMETERS)}"
        )
    known = [*catalogue(), "online:mountain-car", *(f"{each}:ENVIRONMENT" for each in PARAMETERS)]
    known.append("file.toml")
    raise UnknownName("benchmark", benchmark, known)


def _check_name(plan: Plan, file: str) -> None:
    """Raise UsageError where what goes by a built-in's name is played otherwise."""
    kind, _, environment = plan.benchmark.partition(":")
    if not (
        kind in {name.partition(":")[0] for name in catalogue()}
        or (kind in PARAMETERS and is_known(environment))
    ):
        return
    asked: dict[str, Any] = {"seed": plan.seed}
    if split_name(plan.benchmark)[0] == plan.procedure:
        names = ("split", *PARAMETERS[plan.procedure], *SCORING)
        asked |= {name: value for name, value in plan.parameters.items() if name in names}
        asked |= {"slots": plan.slots}
    try:
        built_in = make_plan(Settings(benchmark=plan.benchmark, **asked))
        lines = difference(built_in, plan, called=("built in", "here"))
    except UsageError as error:  # it cannot be played so
        lines = [str(error)]
    if lines:
        raise UsageError(
            f"{file} is called {plan.benchmark}, but that is built in, and otherwise: "
            f"{'; '.join(lines)}; give it a `name` of its own"
        )


def _metaworld_plan(settings: Settings, drawing: Drawing | None) -> Plan:
    tasks = task_set(settings.benchmark, settings.split)
    procedure = PROCEDURES[tasks.family]
    check_parameters(settings, procedure)
    seed = chosen(settings.seed, 0)
    goals = draw_goals(tasks, seed, drawing, key=goal_key(settings.secret))
    variants = {task: len(of) for task, of in goals.items()}
    own = own_parameters(settings, procedure, variants)
    suite = SuiteName(
        METAWORLD,
        {"goals": {task: [list(goal) for goal in of] for task, of in goals.items()}}
        | _suite_config(settings, tasks),
    )
    made = suite.build()  # refuses a horizon or dtype that cannot be, before anything is written
    own |= worst_performance(
        settings, own, reward_low=made.spec.reward_range[0], horizon=made.spec.horizon
    )
    if settings.estimator != "goals":
        own = {"estimator": settings.estimator, **own}
    plan = Plan(
        benchmark=settings.benchmark,
        procedure=procedure,
        parameters={"split": tasks.split, **own, **metaworld_parameters(suite)},
        seed=seed,
        slots=slots(settings, procedure, min(_MOST_SLOTS, _episodes(settings, variants))),
        suite=suite,
        variants=variants,
        baseline=_baseline(settings, tasks),
    )
    procedure_of(plan)  # refuses what cannot be divided as upstream does
    return plan


def _episodes(settings: Settings, variants: Mapping[str, int]) -> int:
    """Of a multi-task benchmark: more slots would stay idle."""
    return len(variants) * chosen(settings.num_episodes, max(variants.values()))


def _suite_config(settings: Settings, tasks: TaskSet) -> dict[str, Any]:
    several = tasks.family == "MT" and len(tasks.tasks) > 1
    return {
        "goal_visible": chosen(settings.goal_visible, tasks.goal_visible),
        "one_hot": chosen(settings.one_hot, several),
        "recurrent_info": settings.recurrent_info,
        "horizon": settings.episode_horizon,
        "observation_dtype": settings.observation_dtype,
        "reveal_tasks": settings.reveal_tasks,
    }


def _baseline(settings: Settings, tasks: TaskSet) -> tuple[str, ...]:
    told = []
    if settings.reveal_tasks or (settings.one_hot and tasks.family == "ML"):
        told.append("tasks")
    if settings.goal_visible and not tasks.goal_visible:
        told.append("goals")
    return tuple(told)
