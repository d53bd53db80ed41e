"""Procedures: how a benchmark plays its plan. Other packages register theirs."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib.metadata import EntryPoint, entry_points

from reglue.errors import CannotLoad, UnknownName
from reglue_bench.plans.plan import Plan
from reglue_bench.procedures.drawn import DrawnMetaLearning, DrawnMultiTask
from reglue_bench.procedures.meta_learning import MetaLearning
from reglue_bench.procedures.multi_task import MultiTask
from reglue_bench.procedures.online import Online
from reglue_bench.procedures.procedure import Agents, Procedure, Todo, Todos
from reglue_bench.settings import Settings

__all__ = [
    "SCORING",
    "Agents",
    "MetaLearning",
    "MultiTask",
    "Online",
    "Procedure",
    "Todo",
    "Todos",
    "parameter_names",
    "procedure_class",
    "procedure_names",
    "procedure_of",
]

GROUP = "reglue.procedures"

SCORING = ("worst_performance",)
"""Parameters that say how a plan is scored, whatever its procedure."""

BUILT_IN: Mapping[str, type[Procedure]] = {
    "multi-task": MultiTask,
    "meta-learning": MetaLearning,
    "online": Online,
}

_DRAWN: Mapping[str, type[Procedure]] = {
    "multi-task": DrawnMultiTask,
    "meta-learning": DrawnMetaLearning,
}
"""With the estimator `metaworld`."""


def procedure_names() -> list[str]:
    """Ours, then those of other packages."""
    return [*BUILT_IN, *_registered()]


def procedure_class(name: str) -> type[Procedure]:
    """The procedure called `name`. Raises UnknownName, or CannotLoad for another package's."""
    if name in BUILT_IN:
        return BUILT_IN[name]
    if name not in _registered():
        raise UnknownName("procedure", name, procedure_names())
    point = _registered()[name]
    try:
        found: type[Procedure] = point.load()
    except Exception as error:  # the edge of another's package
        raise CannotLoad(
            f"the procedure {name} is {point.value}, which cannot be imported: "
            f"{type(error).__name__}: {error}"
        ) from error
    return found


def parameter_names(name: str) -> tuple[str, ...]:
    """The settings that are a procedure's parameters. Raises as `procedure_class`."""
    own = tuple(procedure_class(name).settings.model_fields)
    return own if set(own) <= set(Settings.model_fields) else ("procedure_args",)


def procedure_of(plan: Plan) -> Procedure:
    """The procedure that plays a plan."""
    if plan.estimator == "metaworld":
        return _DRAWN[plan.procedure].of(plan)
    return procedure_class(plan.procedure).of(plan)


@cache
def _registered() -> Mapping[str, EntryPoint]:
    """Those of other packages, which take no name of ours."""
    found = {point.name: point for point in entry_points(group=GROUP)}
    return {name: point for name, point in found.items() if name not in BUILT_IN}
