"""Procedures: how a benchmark plays its plan. Other packages register theirs."""

from __future__ import annotations

from reglue_bench.procedures.evaluate import Evaluate
from reglue_bench.procedures.meta_learning import MetaLearning
from reglue_bench.procedures.multi_task import MultiTask
from reglue_bench.procedures.online import Online
from reglue_bench.procedures.plan_of_facts import plan_of_facts
from reglue_bench.procedures.procedure import Agents, Procedure, Todo, Todos
from reglue_bench.procedures.registry import (
    ANY_PROCEDURE,
    PROCEDURES,
    TRAINING,
    check_parameters,
    parameter_names,
    parameter_settings,
    procedure_names,
    procedure_of,
)
from reglue_bench.procedures.training import Training

__all__ = [
    "ANY_PROCEDURE",
    "PROCEDURES",
    "TRAINING",
    "Agents",
    "Evaluate",
    "MetaLearning",
    "MultiTask",
    "Online",
    "Procedure",
    "Todo",
    "Todos",
    "Training",
    "check_parameters",
    "parameter_names",
    "parameter_settings",
    "plan_of_facts",
    "procedure_names",
    "procedure_of",
]
