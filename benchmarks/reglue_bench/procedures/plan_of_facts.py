"""Procedures plan: from settings, and facts of the environments, to the plan of a run."""

from __future__ import annotations

import math
from collections.abc import Mapping

from reglue.errors import UsageError, setting
from reglue_bench.float_range import within
from reglue_bench.plan_settings import HiddenSettings, PlanSettings
from reglue_bench.plans.environment_facts import DEFAULT_SLOTS, EnvironmentFacts
from reglue_bench.plans.plan import Parameter, Plan
from reglue_bench.procedures.procedure import Procedure, or_default
from reglue_bench.procedures.registry import PROCEDURES, procedure_of


def plan_of_facts(
    called: str, procedure: str, settings: PlanSettings, facts: EnvironmentFacts, cells: str
) -> Plan:
    """The plan by which a procedure plays environments; the benchmark's name is `called`.

    `cells` is the commitment to their key. Raises UsageError for what it cannot play.
    """
    kind = PROCEDURES[procedure]
    parameters = kind.parameters(settings, facts.variants)
    _check_playable(called, procedure, parameters, facts)
    if not facts.horizon:
        parameters = kind.without_horizon() | parameters
    if settings.estimator != "goals":
        parameters = {"estimator": settings.estimator, **parameters}
    parameters |= _worst_performance(settings, parameters, facts)
    parameters |= kind.judged_by(tells_success=facts.tells_success)
    parameters |= _hidden(settings, kind)
    plan = Plan(
        benchmark=called,
        procedure=procedure,
        parameters={**parameters, **facts.parameters},
        seed=or_default(settings.seed, 0),
        slots=kind.slots(settings, _slots(settings, parameters, facts)),
        suite=facts.suite,
        variants=dict(facts.variants),
        privileged=facts.privileged,
        cells=cells,
        environment_args=facts.changed,
    )
    if facts.max_slots and plan.slots > facts.max_slots:
        raise UsageError(
            kind.slots_setting,
            got=plan.slots,
            wanted=f"at most {facts.max_slots}, as the environment has no more",
        )
    procedure_of(plan)  # refuses what cannot be divided as upstream does
    return plan


def _slots(
    settings: PlanSettings, parameters: Mapping[str, Parameter], facts: EnvironmentFacts
) -> int:
    """The default number of slots."""
    most, tasks = facts.most_slots, len(facts.variants)
    if facts.slots_follow_episodes:
        most = min(most, tasks * int(parameters.get("num_episodes", 1)))
    if settings.train_steps is not None:  # each has its share of them
        most = min(most, max(DEFAULT_SLOTS, tasks))
    return most


def _worst_performance(
    settings: PlanSettings, parameters: Mapping[str, Parameter], facts: EnvironmentFacts
) -> dict[str, Parameter]:
    """The performance of a run, or a judged episode, that ends by its agent's own fault.

    What was declared; else the least that the measure can give, so that no agent gains by
    giving up: the least reward where runs are counted in steps; else the least return, of a
    single step where rewards cannot be negative, of the longest episode where they can.
    Nothing if there is no such bound.
    """
    if settings.worst_performance is not None:
        return {"worst_performance": settings.worst_performance}
    low, limits = facts.reward_low, (facts.horizon, parameters.get("episode_limit", 0))
    longest = min((int(n) for n in limits if n), default=0)
    if not math.isfinite(low) or (low < 0 and not (longest or "steps" in parameters)):
        return {}
    is_single = "steps" in parameters or low >= 0
    return {"worst_performance": within(low if is_single else low * longest)}


def _hidden(settings: PlanSettings, kind: type[Procedure]) -> dict[str, Parameter]:
    """The facts to hide from agents. Raises UsageError if they need them, or know them anyway."""
    if settings.hide_rewards and not kind.hides_rewards:
        raise UsageError(
            f"got {setting('hide_rewards')} for {settings.benchmark}, whose agents learn from "
            "rewards while they are judged: omit it"
        )
    if settings.hide_rewards and settings.recurrent_info:
        raise UsageError(
            f"got {setting('hide_rewards')} and {setting('recurrent_info')}, which shows rewards "
            "in observations: give one of them"
        )
    return {name: True for name in HiddenSettings.model_fields if getattr(settings, name)}


def _check_playable(
    called: str,
    procedure: str,
    parameters: Mapping[str, Parameter],
    facts: EnvironmentFacts,
) -> None:
    """Raise UsageError for environments that the procedure cannot play."""
    kind = PROCEDURES[procedure]
    if kind.compares_goals and not facts.repeatable:
        environment = called.removeprefix(f"{procedure}:")
        name = facts.parameters.get("environment", environment)
        raise UsageError(
            got=f"{procedure}: of {name}, which says that it is not repeatable",
            wanted=f"evaluate:{environment}, as {procedure} compares agents on the same goals",
        )
    if facts.continuing and not parameters.keys() & kind.endless.keys():
        raise UsageError(
            f"{facts.parameters.get('environment', called)} is a continuing task, one episode "
            f"that never ends: give {setting('steps', 'N')} (online benchmarks), which is how "
            "long a run is"
        )
    if facts.counts_steps and not kind.counts_steps:
        raise UsageError(
            f"{called} has a schedule that is counted in steps, which only online benchmarks "
            "count: play it as one, or have the schedule count episodes (episodic = true)"
        )
