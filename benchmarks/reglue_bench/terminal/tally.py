"""What has been seen of a run so far, in words and bars."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Protocol

from rich.columns import Columns
from rich.console import RenderableType
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from glue_server import Outcome
from reglue_bench.procedures import procedure_of
from reglue_bench.terminal.learning_tally import LearningTally
from reglue_bench.terminal.observer import RunStarted
from reglue_bench.terminal.words import time_left

_ROWS = 12  # more tasks than that are shown side by side


class Tally(Protocol):
    """Counts outcomes, and tells of them."""

    title: str  # the run's
    counted_in: str  # what `done` and `total` are
    total: int

    @property
    def done(self) -> int:
        """How much of it has been played, in this session or before."""

    def take(self, outcome: Outcome, phase: str) -> None:
        """Count an outcome."""

    def line(self) -> str:
        """All of it in a line."""

    def details(self) -> RenderableType:
        """What a display shows below."""


def tally_of(begun: RunStarted, clock: Callable[[], float]) -> Tally:
    """The one that fits the procedure."""
    if begun.plan.procedure == "online":
        return LearningTally(begun, clock)
    return JudgedTally(begun, clock)


class JudgedTally:
    """Success so far, of all tasks and of each."""

    counted_in = "episodes"

    def __init__(self, begun: RunStarted, clock: Callable[[], float]) -> None:
        plan, procedure = begun.plan, procedure_of(begun.plan)
        self.title = f"{plan.benchmark}, {plan.procedure}, seed {plan.seed}, {plan.slots} slots"
        self.total = sum(len(procedure.cells(unit)) for unit in range(procedure.units))
        self._before = self.total
        self._planned: Counter[str] = Counter()  # judged episodes that were left, by task
        for unit in begun.left:
            cells = procedure.cells(unit)
            self._before -= len(cells)
            self._planned.update(cell.task for cell in cells if cell.phase == "evaluate")
        self._begun = begun
        self._clock = clock
        self._since = clock()
        self._played = 0
        # Judged episodes that succeeded, by task; all that ended where success is never told.
        self._successes: Counter[str] = Counter()
        self._faults = 0

    @property
    def done(self) -> int:
        """Cells that have a row, or are about to."""
        return self._before + self._played

    def take(self, outcome: Outcome, phase: str) -> None:
        """Count an outcome."""
        self._played += 1
        self._faults += outcome.status != "ok"
        if phase == "evaluate":
            counts = outcome.success or self._begun.plan.is_by_return
            self._successes[outcome.order.cell.task] += counts

    def line(self) -> str:
        """All of it in a line."""
        passed_s = self._clock() - self._since
        rate = self._begun.executed() / passed_s if passed_s > 0 else 0.0
        words = [f"{self.done} of {self.total} episodes"]
        if not self._begun.plan.is_by_return:
            # No rate of those that have ended: fast successes end first.
            of = "that were left" if self._before else "planned"
            words.append(f"{self._successes.total()} succeeded of {self._planned.total()} {of}")
        words.append(f"{rate:,.0f} steps/s")
        if left := time_left(passed_s, self._played, self.total - self.done):
            words.append(left)
        if self._faults:
            words.append(f"{self._faults} fault{'s' * (self._faults > 1)}")
        return ", ".join(words)

    def details(self) -> RenderableType:
        """Successes of each task (or episodes, see above) of all that are planned."""
        tasks = [task for task in self._begun.plan.tasks if self._planned[task]]
        if len(tasks) > _ROWS:
            texts = [Text(f"{t} {self._successes[t]}/{self._planned[t]}") for t in tasks]
            return Columns(texts, padding=(0, 3))
        table = Table(box=None, show_header=False, padding=(0, 1), expand=True)
        table.add_column()
        table.add_column(ratio=1)
        table.add_column()
        for task in tasks:
            won, planned = self._successes[task], self._planned[task]
            table.add_row(task, ProgressBar(total=planned, completed=won), f"{won}/{planned}")
        return table
