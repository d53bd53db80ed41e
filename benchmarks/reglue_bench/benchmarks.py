"""From a benchmark's name and settings to the plan of a run."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from env_adapters import SuiteName
from env_adapters.metaworld import TaskSet, draw_goals, task_set
from reglue.errors import UsageError
from reglue_bench.plan import Parameter, Plan
from reglue_bench.procedures import PARAMETERS
from reglue_bench.procedures.meta_learning import trials
from reglue_bench.settings import Settings, flag

_Given = TypeVar("_Given")

PROCEDURES = {"MT": "multi-task", "ML": "meta-learning"}
DEFAULT_SLOTS = 10

Drawing = Callable[[int, int], None]
"""Told how many tasks have their goals, and how many there are."""


def make_plan(settings: Settings, drawing: Drawing | None = None) -> Plan:
    """The plan of a run: draws the goals, which takes half a second a task.

    Raises UsageError for settings that the benchmark cannot be played with.
    """
    tasks = task_set(settings.benchmark, settings.split)
    procedure = PROCEDURES[tasks.family]
    _check_parameters(settings, procedure)
    suite_config = _suite_config(settings, tasks)
    goals = draw_goals(tasks, settings.seed, drawing)
    variants = {task: len(of) for task, of in goals.items()}
    own = _multi_task(settings, variants) if tasks.family == "MT" else _meta(settings, variants)
    suite = SuiteName(
        "env_adapters.metaworld:MetaWorld",
        {"goals": {task: [list(goal) for goal in of] for task, of in goals.items()}} | suite_config,
    )
    suite.build()  # refuses a horizon or dtype that cannot be, before anything is written
    return Plan(
        benchmark=settings.benchmark,
        procedure=procedure,
        parameters={"split": tasks.split, **own, **suite_config},
        seed=settings.seed,
        slots=_slots(settings, own, tasks),
        suite=suite,
        variants=variants,
        baseline=_baseline(settings, tasks),
    )


def _check_parameters(settings: Settings, procedure: str) -> None:
    for other, names in PARAMETERS.items():
        for name in names:
            if other != procedure and getattr(settings, name) is not None:
                raise UsageError(
                    f"{flag(name)} belongs to {other} benchmarks; {settings.benchmark} is "
                    f"{procedure}, which takes {', '.join(map(flag, PARAMETERS[procedure]))}"
                )


def _suite_config(settings: Settings, tasks: TaskSet) -> dict[str, Any]:
    several = tasks.family == "MT" and len(tasks.tasks) > 1
    return {
        "goal_visible": _or(settings.goal_visible, tasks.goal_visible),
        "one_hot": _or(settings.one_hot, several),
        "recurrent_info": settings.recurrent_info,
        "horizon": settings.episode_horizon,
        "observation_dtype": settings.observation_dtype,
        "reveal_tasks": settings.reveal_tasks,
    }


def _multi_task(settings: Settings, variants: Mapping[str, int]) -> dict[str, Parameter]:
    """One episode for each goal, as the documentation has it."""
    return {"num_episodes": _or(settings.num_episodes, max(variants.values()))}


def _meta(settings: Settings, variants: Mapping[str, int]) -> dict[str, Parameter]:
    """Meta-World's defaults; as many evaluations as it takes to play every goal once."""
    batch = _or(settings.meta_batch_size, 20)
    return {
        "num_evals": _or(settings.num_evals, -(-len(trials(variants)) // batch)),
        "adaptation_steps": _or(settings.adaptation_steps, 1),
        "adaptation_episodes": _or(settings.adaptation_episodes, 10),
        "evaluation_episodes": _or(settings.evaluation_episodes, 3),
        "meta_batch_size": batch,
        "evaluate_before_adaptation": _or(settings.evaluate_before_adaptation, False),
    }


def _slots(settings: Settings, own: Mapping[str, Parameter], tasks: TaskSet) -> int:
    if tasks.family == "MT":
        return _or(settings.slots, DEFAULT_SLOTS)
    batch = own["meta_batch_size"]
    assert isinstance(batch, int)
    if settings.slots not in (None, batch):
        raise UsageError(
            f"got --slots {settings.slots}: a meta-learner plays a slot for each trial of its "
            f"meta-batch; give --meta-batch-size {settings.slots}"
        )
    return batch


def _baseline(settings: Settings, tasks: TaskSet) -> tuple[str, ...]:
    told = []
    if settings.reveal_tasks or (settings.one_hot and tasks.family == "ML"):
        told.append("tasks")
    if settings.goal_visible and not tasks.goal_visible:
        told.append("goals")
    return tuple(told)


def _or(given: _Given | None, default: _Given) -> _Given:
    return default if given is None else given
