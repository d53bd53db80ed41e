"""Writes the starter kit: how to join, what happens at each limit, a rehearsal, projects."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from shutil import copyfile
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from env_adapters.suites import FAMILIES
from reglue.errors import StorageFailed, UsageError, flag
from reglue.wire.spec_encoding import spec_to_bytes
from reglue_bench.benchmark.benchmark import suite_of
from reglue_bench.benchmark.benchmark_source import is_file, named_source
from reglue_bench.kit.language import LANGUAGES
from reglue_bench.kit.writing import nothing_of_it_if_it_fails, write_project
from reglue_bench.plan_settings import PlanSettings
from reglue_bench.procedures import parameter_settings
from reglue_bench.runs.trust import foreign_suite
from reglue_bench.settings import Settings
from reglue_competition.definition import Definition, PhaseDefinition, may_overlap
from reglue_competition.phases import PlannedBenchmark, plan_phase

_HERE = Path(__file__).parent

_TEMPLATES = ("README.md", "rehearse.sh")

STAND_IN = "stand_in.py"
"""The file in the kit that stands in for hidden environments."""

_LIMITS = ("first_step_timeout", "step_timeout", "bank", "late", "turn_every", "run_budget")

_VISIBILITY = ("hide_rewards", "hide_success_ends")

_NEGATED = {"goal_visible": "--goal-hidden"}  # elsewhere it is --no-…


def write_kit(definition: Definition, folder: Path, out: Path) -> None:
    """Write the kit that an organiser gives to teams into the new folder `out`.

    `folder` is the competition's, from which its environments are made, without any of its
    secrets: the kit is the same whatever they are. Raises UsageError if `out` is there, or if a
    benchmark cannot be played, and StorageFailed.
    """
    phases = [(phase, _rehearsals(definition, phase, folder)) for phase in definition.phases]
    if out.exists():
        raise UsageError(f"{out} exists; wanted a folder that is not there yet")
    templates = Environment(
        loader=FileSystemLoader(_HERE),
        undefined=StrictUndefined,
        autoescape=False,  # Markdown and sh; words of commands are quoted
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    try:
        with nothing_of_it_if_it_fails(out):
            for language in LANGUAGES:
                rehearse = f"sh ../rehearse.sh {definition.phases[0].name} try"
                write_project(language, out / language, rehearse)
            if any(each.is_hidden for _, target in phases for each in target):
                copyfile(_HERE / STAND_IN, out / STAND_IN)
            for name in _TEMPLATES:
                template = templates.get_template(f"{name}.jinja")
                text = template.render(
                    competition=definition,
                    phases=phases,
                    beside=_beside(definition),
                    stand_in=STAND_IN,
                    languages=LANGUAGES,
                )
                (out / name).write_text(text, encoding="utf-8")
    except OSError as error:
        raise StorageFailed(f"{out} cannot be written: {error.strerror}") from error


@dataclass(frozen=True, slots=True)
class Rehearsal:
    """A benchmark as a team plays it on its own machine."""

    name: str  # as teams know it
    is_hidden: bool  # then it has the same spaces, but not the same environment
    slots: int
    adapts: bool  # agents are adapted before they are judged
    run_s: float  # that an agent may take in each run
    spec: str  # a text about observations and actions
    arguments: str  # of `reglue bench` and `reglue try`, for a shell; $here is the kit


def rehearsal(benchmark: PlannedBenchmark) -> Rehearsal:
    """The rehearsal of a benchmark that was planned without a secret."""
    plan, settings = benchmark.plan, benchmark.settings
    with suite_of(plan, settings).opened() as suite:
        spec = suite.spec
    is_hidden = not _is_public(benchmark)
    name, target = f"`{benchmark.entry.benchmark}`", shlex.quote(benchmark.entry.benchmark)
    options: dict[str, Any] = {
        key: getattr(settings, key)
        for key in PlanSettings.model_fields
        if key != "benchmark" and getattr(settings, key) != Settings.model_fields[key].default
    }
    if is_hidden:
        name, target = "a hidden task", f'{plan.procedure}:"$here"/{STAND_IN}:StandIn'
        visibility = {key: options[key] for key in _VISIBILITY if key in options}
        spaces = {"spec": spec_to_bytes(spec).hex(), "tells_success": plan.tells_success}
        options = visibility | parameter_settings(plan) | {"environment_args": spaces}
    options["slots"] = plan.slots
    options |= {key: getattr(settings, key) for key in _LIMITS}
    return Rehearsal(
        name=name,
        is_hidden=is_hidden,
        slots=plan.slots,
        adapts=plan.procedure == "meta-learning",
        run_s=settings.run_budget or 0.0,
        spec=f"{_tensors(spec.observations)} → {_tensors(spec.actions)}",
        arguments=f"{target} {shlex.join(_flags(options))}",
    )


def _beside(definition: Definition) -> dict[str, list[str]]:
    """The other phases that are open beside one of practice, by its name."""
    found = {
        practice.name: [
            other.name
            for other in definition.phases
            if may_overlap(practice.kind, other.kind) and other.opens < practice.closes
        ]
        for practice in definition.phases
        if practice.kind == "practice"
    }
    return {name: others for name, others in found.items() if others}


def _rehearsals(definition: Definition, phase: PhaseDefinition, folder: Path) -> list[Rehearsal]:
    return [rehearsal(each) for each in plan_phase(definition, phase, None, folder)]


def _is_public(benchmark: PlannedBenchmark) -> bool:
    """Whether the name alone defines the benchmark: Reglue's environments, and no file."""
    if is_file(benchmark.entry.benchmark):
        return False
    name = named_source(benchmark.entry.benchmark)
    is_built_in = name.is_metaworld or name.environment.partition(":")[0] in FAMILIES.built_in
    return is_built_in and not list(foreign_suite(benchmark.plan.to_json()))


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
