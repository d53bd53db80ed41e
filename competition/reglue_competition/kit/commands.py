"""The commands by which a team rehearses a phase on its own machine."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from env_adapters.suites import FAMILIES
from reglue.errors import flag
from reglue.wire.specs import spec_to_bytes
from reglue_bench.plan_settings import PlanSettings
from reglue_bench.planning.names import BenchmarkName, is_custom
from reglue_bench.planning.resolve import suite_of
from reglue_bench.procedures import parameter_settings
from reglue_bench.runs.trust import foreign_suite
from reglue_bench.settings import Settings
from reglue_competition.phases import Drawn

STAND_IN = "stand_in.py"
"""The kit's environment in place of those that are hidden."""

_LIMITS = ("first_step_timeout", "step_timeout", "bank", "late", "turn_every", "run_budget")
_TOLD = ("hide_rewards", "hide_success_ends")
_NEGATED = {"goal_visible": "--goal-hidden"}  # elsewhere it is --no-…


@dataclass(frozen=True, slots=True)
class Rehearsed:
    """A benchmark as a team plays it at home."""

    name: str  # as teams are told
    is_hidden: bool  # then it has the same spaces, but not the same environment
    slots: int
    adapts: bool  # agents are adapted before they are judged
    run_s: float  # that an agent may take in each run
    spec: str  # what agents see and do, in words
    arguments: str  # of `reglue bench` and `reglue try`, for a shell; $here is the kit


def rehearsed(drawn: Drawn) -> Rehearsed:
    """Of a benchmark that was drawn without a secret."""
    plan, settings = drawn.plan, drawn.settings
    spec = suite_of(plan, settings).build().spec
    is_hidden = not _is_public(drawn)
    name, played = f"`{drawn.entry.benchmark}`", shlex.quote(drawn.entry.benchmark)
    options: dict[str, Any] = {
        key: getattr(settings, key)
        for key in PlanSettings.model_fields
        if key != "benchmark" and getattr(settings, key) != Settings.model_fields[key].default
    }
    if is_hidden:
        name, played = "a hidden task", f'{plan.procedure}:"$here"/{STAND_IN}:StandIn'
        told = {key: options[key] for key in _TOLD if key in options}
        spaces = {"spec": spec_to_bytes(spec).hex(), "tells_success": plan.tells_success}
        options = told | parameter_settings(plan) | {"environment_args": spaces}
    options["slots"] = plan.slots
    options |= {key: getattr(settings, key) for key in _LIMITS}
    return Rehearsed(
        name=name,
        is_hidden=is_hidden,
        slots=plan.slots,
        adapts=plan.procedure == "meta-learning",
        run_s=settings.run_budget or 0.0,
        spec=f"{_tensors(spec.observations)} → {_tensors(spec.actions)}",
        arguments=f"{played} {shlex.join(_flags(options))}",
    )


def _is_public(drawn: Drawn) -> bool:
    """Whether the benchmark's name says all of it: Reglue's own environments, and no file."""
    if is_custom(drawn.entry.benchmark):
        return False
    name = BenchmarkName.parse(drawn.entry.benchmark)
    is_own = name.is_metaworld or name.environment.partition(":")[0] in FAMILIES.own
    return is_own and not list(foreign_suite(drawn.plan.to_json()))


def _flags(options: Mapping[str, Any]) -> Iterator[str]:
    for name, value in options.items():
        match value:
            case None:
                pass
            case True:
                yield flag(name)
            case False:
                yield _NEGATED.get(name, f"--no-{flag(name)[2:]}")
            case dict():
                for key, each in value.items():
                    text = each if isinstance(each, str) else json.dumps(each)
                    yield from (flag(name).removesuffix("s"), f"{key}={text}")
            case _:
                yield from (flag(name), str(value))


def _tensors(tensors: Any) -> str:
    return ", ".join(f"{each.name} {each.dtype}{list(each.shape)}" for each in tensors)
