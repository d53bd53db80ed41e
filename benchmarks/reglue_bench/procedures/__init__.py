"""Procedures: how a benchmark plays its plan."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from reglue.errors import UnknownName
from reglue_bench.plans.plan import Plan
from reglue_bench.procedures.drawn import DrawnMetaLearning, DrawnMultiTask
from reglue_bench.procedures.meta_learning import MetaLearning
from reglue_bench.procedures.multi_task import MultiTask
from reglue_bench.procedures.online import Online
from reglue_bench.procedures.procedure import Agents, Procedure, Todo, Todos
from reglue_bench.settings import MetaLearningSettings, MultiTaskSettings, OnlineSettings

__all__ = [
    "PARAMETERS",
    "SCORING",
    "Agents",
    "MetaLearning",
    "MultiTask",
    "Online",
    "Procedure",
    "Todo",
    "Todos",
    "procedure_of",
]

PARAMETERS: Mapping[str, tuple[str, ...]] = {
    "multi-task": tuple(MultiTaskSettings.model_fields),
    "meta-learning": tuple(MetaLearningSettings.model_fields),
    "online": tuple(OnlineSettings.model_fields),
}
"""Which of a plan's parameters each procedure takes; `episodes` or `steps`, not both."""

SCORING = ("worst_performance",)
"""Parameters that say how a plan is scored, whatever its procedure."""


def procedure_of(plan: Plan) -> Procedure:
    """The procedure that plays a plan."""
    names = PARAMETERS.get(plan.procedure, ())
    given = plan.parameters
    own: dict[str, Any] = {name: given[name] for name in names if name in given}
    key = bytes.fromhex(plan.order_key)
    match plan.procedure:
        case "multi-task" if plan.estimator == "metaworld":
            shows = _shows_tasks(plan)
            return DrawnMultiTask(
                plan.variants, seeds=_seeds(plan), shows_tasks=shows, order_key=key, **own
            )
        case "meta-learning" if plan.estimator == "metaworld":
            return DrawnMetaLearning(plan.variants, seed=plan.seed, **own)
        case "multi-task":
            shows = _shows_tasks(plan)
            return MultiTask(plan.variants, shows_tasks=shows, order_key=key, **own)
        case "meta-learning":
            return MetaLearning(plan.variants, order_key=key, **own)
        case "online":
            return Online(plan.variants, **own)
        case other:
            raise UnknownName("procedure", other, PARAMETERS)


def _seeds(plan: Plan) -> list[int]:
    """Of each task's draws: upstream counts them up in own lists of tasks alone."""
    is_list = plan.benchmark.startswith("MT:")
    return [plan.seed + place * is_list for place in range(len(plan.variants))]


def _shows_tasks(plan: Plan) -> bool:
    """Whether its agents are told which task they play, by a one-hot or by name."""
    return bool(plan.parameters.get("one_hot") or plan.parameters.get("reveal_tasks"))
