"""The report's comparison as tables in the terminal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.box import SIMPLE_HEAD
from rich.table import Table
from rich.text import Text

from reglue_bench.plots.views import ComparisonView, Row
from reglue_bench.results.result import Measure, Result


def comparison_table(view: ComparisonView, results: Sequence[Result]) -> Table:
    """A row for each agent, in the order of `view`, with its difference to the first."""
    table = Table(
        title=Text(f"{results[0].title}, seed {results[0].seed}"),
        box=SIMPLE_HEAD,
        show_edge=False,
        pad_edge=False,
        collapse_padding=True,
    )
    table.add_column("agent")
    score = results[0].measure.name
    for heading in (score, "Δ to the first"):  # figures are kept whole: names give way
        table.add_column(heading, justify="right", no_wrap=True)
    for heading in (*["P(better)"] * view.improves, "p, Holm", "played"):
        table.add_column(heading, justify="right")
    for row, result in zip(view.rows, results, strict=True):
        table.add_row(*(Text(cell) for cell in _cells(row, result, improves=view.improves)))
    return table


def seeds_tables(view: ComparisonView, measure: Measure) -> Iterator[Table]:
    """Agents over their training seeds, and their differences, if any have several."""
    if view.seeds:
        name = f"mean {measure.name}" if measure.is_rate else measure.name
        columns = ("agent", "training seeds", name, "interquartile mean")
        yield _plain(
            columns,
            [
                (
                    row.name,
                    row.seeds,
                    _with(row.mean, row.mean_interval),
                    _with(row.iqm, row.iqm_interval),
                )
                for row in view.seeds
            ],
        )
    if view.agents is not None:
        yield _plain(view.agents.columns, view.agents.rows)


def _plain(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> Table:
    table = Table(box=SIMPLE_HEAD, show_edge=False, pad_edge=False, collapse_padding=True)
    for place, column in enumerate(columns):
        table.add_column(column, justify="right" if place else "left")
    for row in rows:
        table.add_row(*map(Text, row))
    return table


def _cells(row: Row, result: Result, *, improves: bool) -> list[str]:
    return [
        row.name,
        _with(row.score, row.score_interval),
        _with(row.difference, row.difference_interval) or "–",
        *[row.improvement or "–"] * improves,
        row.p_value or "–",
        "PARTIAL" if not result.complete else "FAULTS" if result.faults else row.played or "all",
    ]


def _with(value: str, interval: str) -> str:
    return f"{value}\n{interval}" if interval else value
