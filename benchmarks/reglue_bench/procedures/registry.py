"""Procedures by name, and what their plans have in common."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import chain
from typing import Any

from env_adapters.named_objects import Registry
from reglue.errors import UsageError, setting
from reglue_bench.plan_settings import HiddenSettings, PlanSettings
from reglue_bench.plans.plan import Plan
from reglue_bench.procedures.evaluate import Evaluate
from reglue_bench.procedures.meta_learning import MetaLearning
from reglue_bench.procedures.metaworld_sampling import SampledMetaLearning, SampledMultiTask
from reglue_bench.procedures.multi_task import MultiTask
from reglue_bench.procedures.online import Online
from reglue_bench.procedures.procedure import Procedure, plan_parameters

PROCEDURES: Registry[type[Procedure]] = Registry(
    "procedure",
    "reglue.procedures",
    {
        "evaluate": Evaluate,
        "multi-task": MultiTask,
        "meta-learning": MetaLearning,
        "online": Online,
        "training": "reglue_bench.procedures.training:Training",  # which plays others of these
    },
    Procedure,
)

TRAINING = "training"
"""The procedure that trains agents first; `--train-steps` chooses it, and no name does."""

ANY_PROCEDURE = ("worst_performance", *HiddenSettings.model_fields)
"""Parameters that a plan may have whatever its procedure."""

_SAMPLED: Mapping[str, type[Procedure]] = {
    "multi-task": SampledMultiTask,
    "meta-learning": SampledMetaLearning,
}
"""Procedures that play a plan with `--estimator metaworld`."""


def procedure_names() -> list[str]:
    """The procedures that a benchmark's name may have, as in PROCEDURE:ENVIRONMENT."""
    return [name for name in PROCEDURES if name != TRAINING]


def parameter_names(name: str) -> tuple[str, ...]:
    """The settings that are a procedure's parameters. Raises as PROCEDURES."""
    names = tuple(PROCEDURES[name].settings.model_fields)
    return names if set(names) <= set(PlanSettings.model_fields) else ("procedure_args",)


def check_parameters(settings: PlanSettings, procedure: str) -> None:
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


def parameter_settings(plan: Plan) -> dict[str, Any]:
    """The settings that give a plan its procedure's parameters, by their names."""
    parameters = plan_parameters(PROCEDURES[plan.procedure].settings, plan)
    return (
        {"procedure_args": parameters}
        if "procedure_args" in parameter_names(plan.procedure)
        else parameters
    )


def procedure_of(plan: Plan) -> Procedure:
    """The procedure that plays a plan."""
    if plan.estimator == "metaworld":
        return _SAMPLED[plan.procedure].of(plan)
    return PROCEDURES[plan.procedure].of(plan)
