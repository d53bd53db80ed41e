"""What a run is judged by: how that is printed, drawn and compared."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

from rich.table import Table
from rich.text import Text

from reglue_bench.formatting import count, signed, value, values
from reglue_bench.report.views import ComparisonView, Plot, Track
from reglue_bench.results.result import Interval, Result
from reglue_bench.statistics.compare import Pairs, Units
from reglue_bench.statistics.intervals import FloatArray, Inference

Named: TypeAlias = tuple[str, Result]
"""A run, and what a report calls it."""

Sentences: TypeAlias = Sequence[tuple[str, str]]
"""What each is about, and what it says."""


class TaskScore(NamedTuple):
    """The score of one task."""

    score: float
    interval95: Interval | None  # None: there is too little to tell
    of: str  # what it is a mean of: `50 goals`


@dataclass(frozen=True, slots=True, kw_only=True)
class Criterion:
    """What runs are judged by.

    A procedure says which (`Procedure.criterion`). Runs with equal criteria are compared.
    A package makes one of its own of another: `replace(SUCCESS, name="speed", …)`.
    """

    name: str  # of the score: success, mean return, performance
    unit: str  # by which two runs are paired: goal, episode, run
    least: int  # of these that an interval takes
    enough: str  # that, in words
    entrant: str = "run"  # what is compared: runs, or the agents that play them
    planned: str = "Planned episodes"  # heading of how they ended

    score: Callable[[Result], tuple[float | None, Interval | None]]  # with its 95 % interval
    amount: Callable[[float], str] = value  # a score in words
    amounts: Callable[[Interval], str] = values  # an interval in words
    difference: Callable[[float], str] = signed  # a difference of scores in words
    is_rate: bool = False  # 0 to 1
    per_task: Callable[[Result], Mapping[str, TaskScore]] = lambda _result: {}
    per_task_caption: str = ""  # of the plot of these

    # Of two runs.
    read: Callable[[Result], Any]  # the scores of a run's units
    pair: Callable[[Units, Units], Pairs]  # raises UsageError where nothing can be compared
    infer: Callable[[Mapping[str, FloatArray]], Inference]  # from differences by task
    improves: bool = True  # units are independent: a probability of improvement means something
    least_p: Callable[[int], float] = lambda _pairs: 0.0  # where so many differ as far as can be
    apart: Callable[[Named, Named], str]  # why two runs are not compared
    caption: Callable[[Result], str]  # of the table of runs, from the first

    notes: Callable[[Result], list[str]]  # what a reader of the score has to know

    # In the terminal.
    table: Callable[[Result], Table]
    headline: Callable[[Result], list[str]] = lambda _result: []  # what the table does not say

    # On the page.
    meaning: Callable[[Result], str]  # what the score is
    tracks: Callable[[Sequence[Result], Collection[int]], list[Track | None]]
    """The scores of runs on a line; the second argument: the places of those that compare."""
    facts: Callable[[Result], Sentences]  # how much was played
    counts: Callable[[Result], Mapping[str, int]]  # of what was played to its end, keys of STATUSES
    plots: Callable[[Result, str], list[Plot]]  # the second argument begins their ids
    beside: Callable[[ComparisonView, Sequence[Named], Sequence[int], int], ComparisonView]
    """A comparison with its plots: of runs, the places of those that compare, and a seed."""
    played: Callable[[Result], str] = lambda _result: ""  # how many of the planned, if not all
    beware: Callable[[str, Result], list[str]]  # what a comparison says of a single run
    reading: Path
    """A Jinja template of HTML that says how to read the page; it gets the `comparison` of several
    runs, or None, the bootstrap's `seed`, and the `method` of intervals of success."""


def score_table(
    result: Result,
    columns: Sequence[str],
    rows: Sequence[Sequence[str]],
    total: Sequence[str],
) -> Table:
    """A table for the terminal, the first column to the left, the total in bold."""
    title = Text(f"{result.agent.label} on {result.title}, seed {result.seed}")  # no markup
    table = Table(title=title, min_width=title.cell_len + 2)
    for place, column in enumerate(columns):
        table.add_column(column, justify="right" if place else "left")
    for row in rows:
        table.add_row(*row)
    table.add_section()
    table.add_row(*total, style="bold")
    return table


def episode_facts(result: Result) -> Sentences:
    """How many episodes and goals were played."""
    coverage = result.coverage
    goals = f"{count(coverage.goals_planned)} of the benchmark's {coverage.goals_total:,}"
    return [("episodes", completed_words(result)), ("goals", goals)]


def completed_words(result: Result) -> str:
    """`499 of 500 completed`."""
    coverage = result.coverage
    return f"{count(coverage.cells_completed)} of {count(coverage.cells_planned)} completed"


def what_differs(run: Named, first: Named) -> str:
    """`: seed: 3 in y, 4 in x`, of what two runs played; empty where nothing is known to differ."""
    lines = first[1].differences(run[1], called=(f"in {first[0]}", f"in {run[0]}"))
    return f": {'; '.join(lines)}" if lines else ""


def partial(name: str, result: Result) -> list[str]:
    """A note that a partial run is not ranked."""
    return [] if result.complete else [f"{name} is partial, and is not ranked."]


def missing_words(result: Result) -> str:
    """`PARTIAL: 3 missing, of 50 episodes`; without that word if all count, as failures.

    Empty if all were played to their end.
    """
    faults = {status: n for status, n in result.status_counts.items() if status != "ok"}
    counted = ", ".join(f"{n} {status}" for status, n in faults.items())
    what = result.criterion.planned.removeprefix("Planned ")
    begin = "not played to their end" if result.complete else "PARTIAL"
    return f"{begin}: {counted}, of {result.coverage.cells_planned} {what}" if faults else ""
