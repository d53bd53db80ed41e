"""The display of `reglue bakeoff` while agents play, and at the end."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.rule import Rule
from rich.table import Table
from rich.text import Text

from glue_server.commands.command import FAULTS, INTERRUPTED, OK
from glue_server.console import say
from reglue_bench.bakeoff import REPORT, Entrant
from reglue_bench.bakeoff.bakeoff_runs import is_interrupted
from reglue_bench.cli.shared_flags import exit_code, print_document
from reglue_bench.plots.compared import IMPROVEMENT
from reglue_bench.report.frames import first_frames
from reglue_bench.report.page import draw_report, names
from reglue_bench.report.page_contents import ComparisonView
from reglue_bench.results.result import Result
from reglue_bench.runs.observer import Observer
from reglue_bench.terminal.progress import Lines, watcher
from reglue_bench.terminal.summary import notes


class Screen:
    """The display while agents play: a heading and a display for each, or lines of all."""

    def __init__(self, output: Console, entrants: Sequence[Entrant], *, together: bool) -> None:
        self.console = output
        self._order = [entrant.name for entrant in entrants]
        self._together = together

    def say(self, text: str) -> None:
        """Print `text` without markup."""
        say(text, self.console)

    def watcher(self, entrant: Entrant) -> Observer:
        """The display of an agent whose turn has come."""
        if self._together:
            return _Named(self.console, entrant.name)
        place = self._order.index(entrant.name) + 1
        title = f"{entrant.name}, {place} of {len(self._order)}"
        self.console.print(Rule(Text(title), align="left"))
        return watcher(self.console)

    def run_ended(self, entrant: Entrant, result: Result) -> None:
        """Print the notes on an agent's score."""
        for line in notes(result):
            self.say(f"{entrant.name}: {line}" if self._together else line)


class _Named(Lines):
    """Lines that begin with the agent's name."""

    def __init__(self, output: Console, name: str) -> None:
        super().__init__(output)
        self._name = name

    def say(self, text: str) -> None:
        """Print `text` after the agent's name."""
        super().say(f"{self._name}: {text}")


def conclude(
    screen: Screen,
    folder: Path,
    played: Sequence[tuple[Entrant, Result]],
    *,
    of: int,
    json: bool,
) -> int:
    """Compare them in the terminal and on a page; the exit code."""
    results = [result for _, result in played]
    if len(played) < of or any(map(is_interrupted, results)):
        screen.say(f"interrupted; --resume {folder} continues")
        return INTERRUPTED
    folders = [folder / entrant.name for entrant, _ in played]
    page = draw_report(
        list(zip(names(results, folders), results, strict=True)),
        frames=[first_frames(each) for each in folders],
    )
    if (comparison := page.comparison) is not None:
        if comparison.seeds is None or not comparison.seeds.are_all:
            screen.console.print(_comparison_table(comparison, results))
            for line in filter(None, [comparison.verdict, *comparison.notes]):
                screen.say(line)
        for table in _seeds_tables(comparison):
            screen.console.print(table)
        if comparison.seeds is not None and comparison.seeds.verdict:
            screen.say(comparison.seeds.verdict)
    screen.say(str(page.write(folder / REPORT)))
    if json:
        print_document(page.document(folders, results))
    return OK if all(exit_code(result) == OK for result in results) else FAULTS


def _comparison_table(view: ComparisonView, results: Sequence[Result]) -> Table:
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


def _seeds_tables(view: ComparisonView) -> Iterator[Table]:
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
