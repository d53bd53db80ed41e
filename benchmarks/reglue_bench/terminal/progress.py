"""Shows a run while it goes on: a live display on a terminal, plain lines elsewhere."""

from __future__ import annotations

import time
from collections.abc import Callable

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from glue_server import Outcome
from glue_server.console import say
from reglue_bench.procedures import procedure_of
from reglue_bench.runs.observer import Observer, RunStarted
from reglue_bench.terminal.status_line import RegularLine
from reglue_bench.terminal.tally import Tally, tally_of

_LINE_EVERY_S = 10.0


def watcher(console: Console) -> Observer:
    """A live display for a terminal, lines for any other output."""
    return Display(console) if console.is_terminal else Lines(console)


class Lines(RegularLine):
    """A line every few seconds."""

    def __init__(
        self,
        console: Console,
        clock: Callable[[], float] = time.monotonic,
        *,
        every_s: float = _LINE_EVERY_S,
    ) -> None:
        super().__init__(clock, every_s=every_s)
        self._console = console

    def say(self, text: str) -> None:
        say(text, self._console)

    def drawing(self, done: int, total: int) -> None:
        """Print a line when the goals of all tasks are drawn."""
        if done == total:
            self.say(f"drew the goals of {total} task{'s' * (total > 1)}")

    def begin(self, begun: RunStarted) -> None:
        """Print a line that names the run."""
        super().begin(begun)
        assert self._tally is not None
        tally = self._tally
        self.say(f"{tally.title}: {tally.done} of {tally.total} {tally.counted_in} are done")

    def show(self, tally: Tally, line: str) -> None:
        """Print it, unless all is played: then `end` says it."""
        if tally.done < tally.total:
            self.say(line)

    def end(self) -> None:
        """Print the last line."""
        super().end()
        if self._tally is not None:
            self.say(self._tally.line())


class Display:
    """A bar, the rates, and success of each task or returns of the last runs."""

    def __init__(self, console: Console, clock: Callable[[], float] = time.monotonic) -> None:
        self._console = console
        self._clock = clock
        self._tally: Tally | None = None
        self._goals = (0, 0)
        self._live = Live(
            console=console, get_renderable=self._view, refresh_per_second=4, transient=True
        )

    def say(self, text: str) -> None:
        """Print it above the display."""
        say(text, self._console)

    def drawing(self, done: int, total: int) -> None:
        """Show a bar until the goals of all tasks are drawn."""
        self._goals = (done, total)
        if not self._live.is_started:
            self._live.start()
        if done == total:
            self._live.stop()

    def begin(self, begun: RunStarted) -> None:
        """Show the display."""
        self._tally = tally_of(procedure_of(begun.plan), begun, self._clock)
        self._live = Live(console=self._console, get_renderable=self._view, refresh_per_second=4)
        self._live.start()

    def outcome(self, outcome: Outcome, phase: str) -> None:
        assert self._tally is not None
        self._tally.take(outcome, phase)

    def end(self) -> None:
        """Stop, and leave the last state on the screen."""
        self._live.stop()

    def _view(self) -> RenderableType:
        if self._tally is None:
            done, total = self._goals
            return _bar("drawing goals", done, total, f"{done} of {total} tasks")
        tally = self._tally
        return Group(_bar(tally.title, tally.done, tally.total, tally.line()), tally.details())


def _bar(title: str, done: int, total: int, text: str) -> RenderableType:
    grid = Table.grid(expand=True)
    grid.add_row(Text(title, style="bold"))
    grid.add_row(ProgressBar(total=max(total, 1), completed=done))
    grid.add_row(Text(text, style="dim"))
    return grid
