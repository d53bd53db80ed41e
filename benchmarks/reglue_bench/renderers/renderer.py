"""The interface of renderers, which print, plot and describe a measure."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from rich.table import Table

from reglue_bench.formatting import count
from reglue_bench.plots.views import ComparisonView, NamedRun, Plot, Track
from reglue_bench.renderers.score_table import score_table
from reglue_bench.results.result import Result

Sentences: TypeAlias = Sequence[tuple[str, str]]
"""What each is about, and what it says."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Renderer:
    """Prints, plots and describes the results of one measure.

    A measure says where its own stands (`Measure.shown_by`). A package derives one from another,
    `replace(SUCCESS, notes=…, plots=…)`.
    """

    apart: Callable[[NamedRun, NamedRun], str]  # why two runs are not compared
    caption: Callable[[Result], str]  # of the table of runs, from the first
    notes: Callable[[Result], list[str]]  # what a reader of the score has to know

    # In the terminal.
    table: Callable[[Result], Table] = score_table
    headline: Callable[[Result], list[str]] = lambda _result: []  # what the table does not say

    # On the page.
    meaning: Callable[[Result], str]  # what the score is
    tracks: Callable[[Sequence[Result], Collection[int]], list[Track | None]]
    """The scores of runs on a line; the second argument: the places of those that compare."""
    facts: Callable[[Result], Sentences]  # how much was played
    counts: Callable[[Result], Mapping[str, int]]  # of what was played to its end, keys of STATUSES
    plots: Callable[[Result, str], list[Plot]]  # the second argument begins their ids
    beside: Callable[[ComparisonView, Sequence[NamedRun], Sequence[int]], ComparisonView]
    """A comparison with its plots: of runs, and the places of those that compare."""
    played: Callable[[Result], str] = lambda _result: ""  # how many of the planned, if not all
    beware: Callable[[str, Result], list[str]]  # what a comparison says of a single run
    reading: Path
    """A Jinja template of HTML that says how to read the page; it gets the `comparison` of several
    runs, or None, the bootstrap's `seed`, and the `method` of intervals of success."""


def episode_facts(result: Result) -> Sentences:
    """The numbers of episodes and goals that were played."""
    coverage = result.coverage
    goals = f"{count(coverage.goals_planned)} of the benchmark's {coverage.goals_total:,}"
    return [("episodes", completed_text(result)), ("goals", goals)]


def completed_text(result: Result) -> str:
    """`499 of 500 completed`."""
    coverage = result.coverage
    return f"{count(coverage.cells_completed)} of {count(coverage.cells_planned)} completed"


def what_differs(run: NamedRun, first: NamedRun) -> str:
    """`: seed: 3 in y, 4 in x`, of what two runs played; empty if nothing is known to differ."""
    lines = first[1].differences(run[1], called=(f"in {first[0]}", f"in {run[0]}"))
    return f": {'; '.join(lines)}" if lines else ""


def partial(name: str, result: Result) -> list[str]:
    """A note that a partial run is not ranked."""
    return [] if result.complete else [f"{name} is partial, and is not ranked."]


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
