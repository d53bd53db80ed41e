"""The plan of a run that trains its agent before it is judged."""

from __future__ import annotations

from dataclasses import replace

from env_adapters import SuiteName
from env_adapters.suite_names import COMPOSED
from reglue.errors import UsageError, setting
from reglue_bench.plan_settings import PlanSettings
from reglue_bench.plans.environment_facts import EnvironmentFacts
from reglue_bench.plans.plan import Goals, Plan
from reglue_bench.procedures.registry import PROCEDURES, TRAINING
from reglue_bench.procedures.training import Training
from reglue_bench.procedures.training_cells import EVALUATED_BY

PREFIX = "train/"
"""Prefix for tasks of the train split if the test split is judged."""


def with_training(plan: Plan, settings: PlanSettings, train: EnvironmentFacts | None) -> Plan:
    """The plan that trains for `settings.train_steps` before `plan` is played.

    `train` are those of the train split; None: it trains on those that are judged. Raises
    UsageError.
    """
    kind = PROCEDURES[plan.procedure]
    if not kind.trains_first:
        raise UsageError(
            f"got {setting('train_steps')} for {plan.benchmark}, which is {plan.procedure}: its "
            "agents are judged while they learn; omit it, or choose a benchmark that judges "
            "frozen agents, such as multi-task:ENVIRONMENT"
        )
    variants = plan.variants if train is None else train.variants
    training_parameters = Training.parameters(settings, variants)
    goals = None
    if train is not None:
        goals = Goals(train.suite, {PREFIX + task: n for task, n in variants.items()})
    return replace(
        plan,
        procedure=TRAINING,
        parameters={**plan.parameters, EVALUATED_BY: plan.procedure, **training_parameters},
        training=goals,
    )


def whole_suite(plan: Plan) -> SuiteName:
    """The plan's suite, which plays the tasks of the train split too if they are trained on."""
    if plan.training is None:
        return plan.suite
    suites = [plan.suite, plan.training.suite]
    tasks = {
        name: {"suite": place, "task": name.removeprefix(PREFIX * place), "variants": [*range(n)]}
        for place, of in enumerate((plan.variants, plan.training.variants))
        for name, n in of.items()
    }
    config = [{"factory": each.factory, "config": each.config} for each in suites]
    return SuiteName(COMPOSED, {"suites": config, "tasks": tasks})
