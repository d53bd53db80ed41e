"""A result's scores as a table for the terminal."""

from __future__ import annotations

from collections.abc import Sequence

from rich.table import Table
from rich.text import Text

from reglue_bench.formatting import count, number
from reglue_bench.results.result import Result
from reglue_bench.results.scores import TaskScore


def score_table(result: Result) -> Table:
    """A row for each task: how much was planned, the score, its interval, and what else is known.

    A score that is not known, as no worst performance is, is withheld.
    """
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
    return table_of(result, columns, [cells(task) for task in tasks if task], cells(""))


def _figure(row: TaskScore, amount: float) -> str:
    """An amount of a row's kind: a rate with three decimals."""
    return f"{amount:.3f}" if row.is_rate else number(amount)


def table_of(
    result: Result, columns: Sequence[str], rows: Sequence[Sequence[str]], total: Sequence[str]
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
