"""The report's comparison as tables in the terminal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.box import SIMPLE_HEAD
from rich.table import Table
from rich.text import Text

from reglue_bench.plots.compared import IMPROVEMENT
from reglue_bench.report.page_contents import ComparisonView
from reglue_bench.results.result import Result


def comparison_table(view: ComparisonView, results: Sequence[Result]) -> Table:
    """A row for each agent, in the order of `view`, with its difference to the first."""
    names = {results[0].measure.entrant: "agent", IMPROVEMENT: "P(better)"}
    columns = [names.get(column, column) for column in view.runs.columns]
    table = _plain([*columns, "played"])
    table.title = Text(f"{results[0].title}, seed {results[0].seed}")
    for column in table.columns[1:3]:  # figures are kept whole: names give way
        column.no_wrap = True
    for row, result in zip(view.runs.rows, results, strict=True):
        played = "PARTIAL" if not result.complete else "FAULTS" if result.faults else "all"
        table.add_row(*map(Text, row), played)
    return table


def seeds_tables(view: ComparisonView) -> Iterator[Table]:
    """Agents over their training seeds, and their differences, if any have several."""
    for each in filter(None, (view.seeds.table, view.seeds.pairs) if view.seeds else ()):
        table = _plain(each.columns)
        for row in each.rows:
            table.add_row(*map(Text, row))
        yield table


def _plain(columns: Sequence[str]) -> Table:
    table = Table(box=SIMPLE_HEAD, show_edge=False, pad_edge=False, collapse_padding=True)
    for place, column in enumerate(columns):
        table.add_column(column, justify="right" if place else "left")
    return table
