"""Rates of contenders that stay up from round to round."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field

from speed.contender import Contender, ContenderFailed
from speed.harness import Measure, Scale, Series, Watch, interleave


@dataclass(frozen=True, slots=True)
class Program:
    """A contender, and how much of it is a repetition."""

    name: str
    module: str
    arguments: tuple[str, ...]
    steps: int  # each of all its slots
    asked: Mapping[str, object] = field(default_factory=dict)


def rates(
    programs: Sequence[Program],
    unit: str,
    *,
    rounds: int,
    scale: Scale,
    watch: Watch,
    per: float = 1.0,
) -> tuple[tuple[Series, ...], tuple[str, ...]]:
    """Steps a second (times `per`) of each, and who could not be measured."""
    notes: list[str] = []
    with ExitStack() as closing:
        ready: dict[str, Measure] = {}
        for program in programs:
            watch(f"start {program.name}")
            contender = closing.enter_context(Contender(program.module, *program.arguments))
            metric = _measure(contender, program, scale, per)
            try:
                metric()  # warms it up
            except ContenderFailed as failed:
                notes.append(
                    f"{program.name} could not be measured: {str(failed).splitlines()[-1]}"
                )
            else:
                ready[program.name] = metric
        return interleave(ready, unit, rounds=rounds, watch=watch), tuple(notes)


def _measure(
    contender: Contender, program: Program, scale: Scale, per: float
) -> Callable[[], float]:
    steps = scale.of(program.steps, max(20, program.steps // 20))

    def metric() -> float:
        found = contender.metric(steps=steps, **program.asked)
        return per * float(found["steps"]) / float(found["seconds"])

    return metric
