"""Procedures: how a benchmark plays its plan."""

from __future__ import annotations

from typing import Any

from reglue.errors import UnknownName
from reglue_bench.plan import Plan
from reglue_bench.procedures.meta_learning import MetaLearning
from reglue_bench.procedures.multi_task import MultiTask
from reglue_bench.procedures.procedure import Procedure, Todo

__all__ = ["MetaLearning", "MultiTask", "Procedure", "Todo", "procedure_of"]

PARAMETERS = {
    "multi-task": ("num_episodes",),
    "meta-learning": (
        "num_evals",
        "adaptation_steps",
        "adaptation_episodes",
        "evaluation_episodes",
        "meta_batch_size",
        "evaluate_before_adaptation",
    ),
}
"""Which of a plan's parameters each procedure takes."""


def procedure_of(plan: Plan) -> Procedure:
    """The procedure that plays a plan."""
    names = PARAMETERS.get(plan.procedure, ())
    own: dict[str, Any] = {name: plan.parameters[name] for name in names}
    match plan.procedure:
        case "multi-task":
            return MultiTask(plan.variants, **own)
        case "meta-learning":
            return MetaLearning(plan.variants, **own)
        case other:
            raise UnknownName("procedure", other, PARAMETERS)
