"""A line every few seconds that says how far a run is, also during a long episode."""

from __future__ import annotations

import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import TYPE_CHECKING

from glue_server import Outcome
from reglue_bench.procedures import procedure_of
from reglue_bench.runs.observer import NullObserver, RunStarted

if TYPE_CHECKING:
    from reglue_bench.terminal.tally import Tally


class RegularLine(NullObserver, ABC):
    """Counts a run; a thread of its own shows the line."""

    def __init__(self, clock: Callable[[], float] = time.monotonic, *, every_s: float) -> None:
        self._clock = clock
        self._every_s = every_s
        self._tally: Tally | None = None
        self._counting = threading.Lock()
        self._over = threading.Event()
        self._thread: threading.Thread | None = None

    def begin(self, begun: RunStarted) -> None:
        """Count from now on."""
        from reglue_bench.terminal.tally import tally_of  # a process that shows nothing needs none

        self._tally = tally = tally_of(procedure_of(begun.plan), begun, self._clock)
        self._over.clear()
        self._thread = threading.Thread(
            target=self._look, args=(tally,), name="reglue-line", daemon=True
        )
        self._thread.start()

    def outcome(self, outcome: Outcome, phase: str) -> None:
        """Count it."""
        assert self._tally is not None
        with self._counting:
            self._tally.take(outcome, phase)

    def end(self) -> None:
        """No line comes after this."""
        self._over.set()
        if self._thread is not None:
            self._thread.join()
            self._thread = None

    @abstractmethod
    def show(self, tally: Tally, line: str) -> None:
        """Show the line of a tally, in the thread."""

    def _look(self, tally: Tally) -> None:
        while not self._over.wait(self._every_s):
            with self._counting:
                line = tally.line()
            self.show(tally, line)
