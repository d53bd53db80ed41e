"""A result in the terminal."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby, pairwise
from typing import TypeAlias

from rich.console import Console
from rich.table import Table
from rich.text import Text

from glue_server.console import say
from reglue_bench.float_range import mean
from reglue_bench.formatting import count, isolation_text, number, sparkline
from reglue_bench.renderers import renderer
from reglue_bench.results.result import Result
from reglue_bench.results.scores import TaskScore

_WIDTH = 50  # columns of a curve
_PARTS = 10  # of a run, one in a row of the table

_Cells: TypeAlias = tuple[Sequence[str], Sequence[Sequence[str]], Sequence[str]]
"""The columns of a table, its rows, and the total."""


def print_summary(console: Console, result: Result) -> None:
    """The score, what it is made of, and what went wrong."""
    if result.status_counts.keys() - {"missing"}:  # an empty table says nothing
        console.print(score_table(result))
    for line in [*training_lines(result), *notes(result)]:
        say(line, console)


def score_table(result: Result) -> Table:
    """A row for each task, or for each tenth of a run of an agent that learns; then the total.

    A score that is not known, as no worst performance is, is withheld.
    """
    title = Text(f"{result.agent.label} on {result.title}, seed {result.seed}")  # no markup
    table = Table(title=title, min_width=title.cell_len + 2)
    learns = result.measure.unit == "run"
    columns, rows, total = _parts_of_runs(result) if learns else _tasks(result)
    for place, column in enumerate(columns):
        table.add_column(column, justify="right" if place else "left")
    for row in rows:
        table.add_row(*row)
    table.add_section()
    table.add_row(*total, style="bold")
    return table


def training_lines(result: Result) -> list[str]:
    """Lines on the length of the training, and on each of its curves."""
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


def _tasks(result: Result) -> _Cells:
    """For each task the planned units, the score, its interval, and what else is known."""
    rows, name, planned = result.scores, result.measure.name, result.coverage.episodes_planned
    known = {(row.task, row.what): row for row in rows}
    tasks = [*dict.fromkeys([*planned, *(row.task for row in rows)]), ""]
    others = [what for what in dict.fromkeys(row.what for row in rows) if what != name]
    unit = next((row.unit for row in rows if row.what == name), "episode")

    def cells(task: str) -> list[str]:
        score = known.get((task, name))
        episodes = [sum(of.values()) for each, of in planned.items() if task in ("", each)]
        counted = count(score.n if score else sum(episodes))
        mean = "withheld" if score is None else _figure(score, score.score)
        interval = score.interval95 if score else None
        ends = " – ".join(_figure(score, end) for end in interval) if score and interval else "–"
        more = (known.get((task, what)) for what in others)
        return [
            *(task or "mean over tasks", counted, mean, ends),
            *("–" if each is None else _figure(each, each.score) for each in more),
        ]

    columns = ["task", f"{unit}s", name, "95 % interval", *others]
    return columns, [cells(task) for task in tasks if task], cells("")


def _figure(row: TaskScore, amount: float) -> str:
    """An amount of a row's kind: a rate with three decimals."""
    return f"{amount:.3f}" if row.is_rate else number(amount)


def _parts_of_runs(result: Result) -> _Cells:
    """Means over the completed runs, by tenths of a run; then the performance of all runs."""
    curves = {
        name: list(points) for name, points in groupby(result.curves, key=lambda point: point.curve)
    }
    first = next(iter(curves.values()), [])
    parts = min(_PARTS, len(first))
    ends = [len(first) * place // parts for place in range(parts + 1)] if parts else []
    rows = []
    for begin, end in pairwise(ends):
        start, last = (first[begin - 1].at if begin else 0) + 1, first[end - 1].at
        name = f"{start:,} – {last:,}" if start < last else f"{last:,}"
        means = (mean([point.value for point in of[begin:end]]) for of in curves.values())
        rows.append([name, *map(number, means)])
    columns = [first[0].counted_in if first else result.measure.planned]
    columns += ("mean return" if name == "return" else name for name in curves)
    score = result.score.value
    total = [result.measure.name, "withheld" if score is None else number(score)]
    return columns, rows, total


def notes(result: Result) -> list[str]:
    """Lines on where and how it was played, as far as that is unusual; then the notes."""
    coverage, machines, places = result.coverage, result.machines, result.environments_in
    lines = [
        f"isolation: {isolation_text(result.agent.isolation)}",
        *renderer.renderer_of(result).headline(result),
    ]
    if coverage.goals_planned < coverage.goals_total:
        lines.append(f"{coverage.goals_planned} of {coverage.goals_total} goals were planned")
    if len(machines) > 1 or result.environments_on:
        lines.append(f"played on {'; '.join(machines)}")
    if result.environments_on:
        lines.append(f"environments on {'; '.join(result.environments_on)}")
    if len(places) > 1:
        lines.append(f"environments in {' and '.join(places)}")
    clipped, steps = result.clipped_steps, result.steps.counted
    if 0 < 2 * clipped <= steps:  # of more, the notes speak
        lines.append(f"{clipped:,} of {steps:,} actions were out of bounds and were clipped")
    return [*lines, *renderer.notes(result)]
