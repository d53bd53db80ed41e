"""A renderer is a measure with its texts and plots; and the notes on every result.

`terminal` and `report` show the rest, which is alike for all measures: tables, bars and counts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from reglue.errors import AgentTimeout, BadArgument
from reglue_bench.formatting import count, percent, plural
from reglue_bench.plots.figures import NamedRun, Plot
from reglue_bench.results.result import Measure, Result

_MOST_FAULTS = 5  # of which the error is shown

_LIMITS = (
    "--step-timeout, --first-step-timeout, --bank, --adapt-budget and --run-budget set how long "
    "the agent may take"
)

Sentences: TypeAlias = Sequence[tuple[str, str]]
"""Pairs of a subject and a sentence about it."""


def episode_facts(result: Result) -> Sentences:
    """The numbers of episodes and goals that were played."""
    coverage = result.coverage
    goals = f"{count(coverage.goals_planned)} of the benchmark's {coverage.goals_total:,}"
    return [("episodes", completed_text(result)), ("goals", goals)]


def partial(name: str, result: Result) -> list[str]:
    """A note that a partial run is not ranked."""
    return [] if result.complete else [f"{name} is partial, and is not ranked."]


@dataclass(frozen=True, slots=True, kw_only=True)
class Renderer(Measure):
    """A measure with the texts and plots of its results.

    A procedure names one (`Procedure.measured_by`). A package derives its own from another,
    `replace(SUCCESS, name="speed", notes=…, plots=…)`.
    """

    notes: Callable[[Result], list[str]]  # caveats of the score
    meaning: Callable[[Result], str] = lambda result: result.measure.name  # below the score
    headline: Callable[[Result], list[str]] = lambda _result: []  # lines below the terminal's table
    facts: Callable[[Result], Sentences] = episode_facts  # how much was played
    plots: Callable[[Sequence[NamedRun], Sequence[int], str], list[Plot]]
    """Plots of one run without a name, or of several. The second argument has the places of the
    runs that can be compared with the first, the third one the first part of the plots' ids."""
    reading: Path
    """The Jinja template of "How to read this". Its variables are the `comparison` of several runs,
    or None, and the `method` of intervals of success."""

    # Comparisons of several runs.
    caption: Callable[[Result], str]  # of the table, from the first run
    not_compared: str  # why two runs are not compared: ends a sentence that begins with their names
    beware: Callable[[str, Result], list[str]] = partial  # caveats of a run, by its name
    remarks: Callable[[Result], list[str]] = lambda _result: []  # beside a run's name, in a word
    maps: Callable[[Sequence[NamedRun]], list[Plot]] = lambda _runs: []
    """Plots that compare each run with the first; where there are many, the page folds them."""


def completed_text(result: Result) -> str:
    """`499 of 500 completed`."""
    coverage = result.coverage
    return f"{count(coverage.cells_completed)} of {count(coverage.cells_planned)} completed"


def missing_text(result: Result) -> str:
    """`PARTIAL: 3 missing, of 50 episodes`; without that word if all count, as failures.

    Empty if all were played to their end.
    """
    faults = {status: n for status, n in result.status_counts.items() if status != "ok"}
    counted = ", ".join(f"{n} {status}" for status, n in faults.items())
    begin = "not played to their end" if result.complete else "PARTIAL"
    return (
        f"{begin}: {counted}, of {result.coverage.cells_planned} {result.measure.planned}"
        if faults
        else ""
    )


def renderer_of(result: Result) -> Renderer:
    """The result's measure, with its texts. Raises BadArgument if it has none."""
    measure = result.measure
    if not isinstance(measure, Renderer):
        raise BadArgument(got=f"the measure {measure.name}", wanted="a Renderer, which has texts")
    return measure


def notes(result: Result) -> Iterator[str]:
    """Caveats of the score, then faults and events, and last how the run ended.

    Each is one sentence without a capital and a full stop. A traceback may follow it.
    """
    yield from renderer_of(result).notes(result)
    if result.privileged:
        hidden = " and the ".join(result.privileged)
        yield (
            f"privileged, and not ranked: the agent was told the {hidden}, which the benchmark "
            "hides"
        )
    steps = result.steps.counted
    if 2 * result.clipped_steps > steps:
        yield (
            f"{percent(result.clipped_steps / steps)} of the actions were out of bounds and were "
            "clipped: the agent may use another scale"
        )
    if late := result.defaulted_steps:
        yield f"{late:,} of {steps:,} actions came too late, and defaults were played"
    yield from map(str, result.faults[:_MOST_FAULTS])
    if retried := result.episodes_retried:
        yield (
            f"{plural(retried, 'episode')} of a second or later try: the run was killed or "
            "interrupted in mid-episode, or faults were played again"
        )
    yield from result.caveats
    yield from (f"{each.count} × {each.what}" for each in result.events)
    if result.recorded is not None and result.recorded.lost:
        lost = plural(result.recorded.lost, "episode")
        yield f"{lost} missing from the dataset, which holds {result.recorded.episodes:,}"
    if result.ended_early is not None:
        yield f"ended early, {result.ended_early}"
        if result.ended_early.status == AgentTimeout.status:
            yield _LIMITS
    elif "missing" in result.status_counts:
        yield "so far: the run goes on, or was killed and can be resumed"
