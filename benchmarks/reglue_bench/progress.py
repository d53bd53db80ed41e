"""Shows a run while it goes on: a live display on a terminal, plain lines elsewhere."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

from rich.columns import Columns
from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from glue_server import Outcome
from reglue_bench.watching import Begun, Watcher

_LINE_EVERY_S = 10.0
_ROWS = 12  # more tasks than that are shown side by side


def watcher(console: Console) -> Watcher:
    """The display that fits where the output goes."""
    return Display(console) if console.is_terminal else Lines(console)


@dataclass(slots=True)
class Tally:
    """What has been seen so far in this session."""

    begun: Begun
    since: float
    clock: Callable[[], float]
    played: int = 0
    judged: Counter[str] = field(default_factory=Counter)  # by task
    successes: Counter[str] = field(default_factory=Counter)
    faults: int = 0

    @property
    def total(self) -> int:
        """Cells of the plan."""
        return sum(self.begun.phases.values())

    @property
    def done(self) -> int:
        """Cells that have a row, or are about to."""
        return self.begun.done + self.played

    def take(self, outcome: Outcome, phase: str) -> None:
        """Count an outcome."""
        self.played += 1
        self.faults += outcome.status != "ok"
        if phase == "evaluate":
            self.judged[outcome.order.cell.task] += 1
            self.successes[outcome.order.cell.task] += outcome.success

    def line(self) -> str:
        """All of it in a line."""
        passed_s = self.clock() - self.since
        rate = self.begun.executed() / passed_s if passed_s > 0 else 0.0
        words = [f"{self.done} of {self.total} episodes"]
        if judged := self.judged.total():
            words.append(f"success {self.successes.total() / judged:.3f}")
        words.append(f"{rate:,.0f} steps/s")
        if self.played and self.done < self.total:
            words.append(f"{_span(passed_s / self.played * (self.total - self.done))} left")
        if self.faults:
            words.append(f"{self.faults} faults")
        return ", ".join(words)


class Lines:
    """A line every few seconds."""

    def __init__(self, console: Console, clock: Callable[[], float] = time.monotonic) -> None:
        self._console = console
        self._clock = clock
        self._tally: Tally | None = None
        self._last = clock()

    def say(self, text: str) -> None:
        """Print it."""
        self._console.print(text, markup=False, highlight=False, soft_wrap=True)

    def drawing(self, done: int, total: int) -> None:
        """A line at the end."""
        if done == total:
            self.say(f"drew the goals of {total} tasks")

    def begin(self, begun: Begun) -> None:
        """A line that names the run."""
        self._tally = Tally(begun, self._clock(), self._clock)
        self.say(f"{_title(begun)}: {self._tally.done} of {self._tally.total} episodes are done")

    def outcome(self, outcome: Outcome, phase: str) -> None:
        """A line now and then."""
        assert self._tally is not None
        self._tally.take(outcome, phase)
        if self._clock() - self._last >= _LINE_EVERY_S:
            self._last = self._clock()
            self.say(self._tally.line())

    def end(self) -> None:
        """A last line."""
        if self._tally is not None:
            self.say(self._tally.line())


class Display:
    """A bar, the rates, and success so far for each task."""

    def __init__(self, console: Console, clock: Callable[[], float] = time.monotonic) -> None:
        self._console = console
        self._clock = clock
        self._tally: Tally | None = None
        self._drawn = (0, 0)
        self._live = Live(
            console=console, get_renderable=self._view, refresh_per_second=4, transient=True
        )

    def say(self, text: str) -> None:
        """Print it above the display."""
        self._console.print(text, markup=False, highlight=False, soft_wrap=True)

    def drawing(self, done: int, total: int) -> None:
        """A bar of its own, until all are drawn."""
        self._drawn = (done, total)
        if not self._live.is_started:
            self._live.start()
        if done == total:
            self._live.stop()

    def begin(self, begun: Begun) -> None:
        """Show the display."""
        self._tally = Tally(begun, self._clock(), self._clock)
        self._live = Live(console=self._console, get_renderable=self._view, refresh_per_second=4)
        self._live.start()

    def outcome(self, outcome: Outcome, phase: str) -> None:
        """Count it; the display looks by itself."""
        assert self._tally is not None
        self._tally.take(outcome, phase)

    def end(self) -> None:
        """Leave the last state standing."""
        self._live.stop()

    def _view(self) -> RenderableType:
        if self._tally is None:
            done, total = self._drawn
            return _bar("drawing goals", done, total, f"{done} of {total} tasks")
        tally = self._tally
        bar = _bar(_title(tally.begun), tally.done, tally.total, tally.line())
        return Group(bar, _tasks(tally))


def _bar(title: str, done: int, total: int, words: str) -> RenderableType:
    grid = Table.grid()
    grid.add_row(Text(title, style="bold"))
    grid.add_row(ProgressBar(total=max(total, 1), completed=done, width=60))
    grid.add_row(Text(words, style="dim"))
    return grid


def _tasks(tally: Tally) -> RenderableType:
    tasks = [task for task in tally.begun.plan.tasks if tally.judged[task]]
    if len(tasks) > _ROWS:
        return Columns(
            [Text(f"{t} {tally.successes[t]}/{tally.judged[t]}") for t in tasks], padding=(0, 3)
        )
    table = Table(box=None, show_header=False, padding=(0, 1))
    for task in tasks:
        won, judged = tally.successes[task], tally.judged[task]
        table.add_row(task, ProgressBar(total=judged, completed=won, width=20), f"{won}/{judged}")
    return table


def _title(begun: Begun) -> str:
    plan = begun.plan
    return f"{plan.benchmark}, {plan.procedure}, seed {plan.seed}, {plan.slots} slots"


def _span(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest:02d} s" if minutes else f"{rest} s"
