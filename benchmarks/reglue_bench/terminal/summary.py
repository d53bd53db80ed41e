"""A result in the terminal."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

from rich.console import Console

from glue_server.console import say
from reglue.errors import AgentTimeout
from reglue_bench.formatting import isolation_text, number, sparkline
from reglue_bench.renderers import renderer_of
from reglue_bench.results.result import Result

_WIDTH = 50  # columns of a curve

_LIMITS = (
    "--step-timeout, --first-step-timeout, --bank, --adapt-budget and --run-budget set how long "
    "the agent may take"
)


def print_summary(console: Console, result: Result) -> None:
    """The score, what it is made of, and what went wrong."""
    if result.status_counts.keys() - {"missing"}:  # an empty table says nothing
        console.print(renderer_of(result).table(result))
    for line in [*training_lines(result), *notes(result)]:
        say(line, console)


def training_lines(result: Result) -> list[str]:
    """Lines that describe how training improved the agent."""
    training = result.training
    if training is None:
        return []
    lines = [
        f"trained for {training.steps_taken:,} of {training.steps:,} steps, "
        f"{training.episodes:,} episodes"
        + f", {training.episodes_abandoned:,} abandoned"
        * bool(training.episodes_abandoned)
    ]
    for name, points in groupby(training.curves, key=lambda point: point.curve):
        lines += _curve(name, [point.value for point in points])
    return lines


def _curve(name: str, values: Sequence[float]) -> list[str]:
    """A line from the first to the last value; none if there are not two."""
    if len(values) < 2:
        return []
    line = sparkline(values, low=min(values), high=max(values), width=_WIDTH)
    return [f"{name}: {number(values[0])} {line} {number(values[-1])}"]


def notes(result: Result) -> list[str]:
    """What a reader of the score has to know."""
    lines = [
        f"isolation: {isolation_text(result.agent.isolation)}",
        *renderer_of(result).headline(result),
        *renderer_of(result).notes(result),
    ]
    if result.privileged:
        hidden = " and the ".join(result.privileged)
        lines.append(f"privileged: the agent was told the {hidden}, which the benchmark hides")
    if result.coverage.goals_planned < result.coverage.goals_total:
        coverage = result.coverage
        lines.append(f"{coverage.goals_planned} of {coverage.goals_total} goals were planned")
    if result.clipped_steps:
        lines.append(
            f"{result.clipped_steps} of {result.steps.counted} actions were out of bounds "
            "and were clipped"
        )
    if result.defaulted_steps:
        lines.append(
            f"{result.defaulted_steps} of {result.steps.counted} actions came too late, and "
            "defaults were played"
        )
    lines += map(str, result.faults[:5])
    if result.episodes_retried:
        lines.append(f"episodes of a second or later try: {result.episodes_retried}")
    lines += [*result.caveats, *events(result)]
    if len(result.machines) > 1 or result.environments_on:
        lines.append(f"played on {'; '.join(result.machines)}")
    if result.environments_on:
        lines.append(f"environments on {'; '.join(result.environments_on)}")
    if len(result.environments_in) > 1:
        lines.append(f"environments in {' and '.join(result.environments_in)}")
    if result.recorded is not None and result.recorded.lost:
        lines.append(
            f"{result.recorded.lost} episodes are lost to the dataset, which holds "
            f"{result.recorded.episodes}"
        )
    if result.ended_early is not None:
        lines.append(f"ended early, {result.ended_early}")
        if result.ended_early.status == AgentTimeout.status:
            lines.append(_LIMITS)
    return lines


def events(result: Result) -> list[str]:
    """Events during the run that changed no row."""
    return [f"{each.count} × {each.what}" for each in result.events]
