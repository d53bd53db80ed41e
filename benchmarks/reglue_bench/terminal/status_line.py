"""A line every few seconds that says how far a run is: in a terminal, a notebook, or plainly."""

from __future__ import annotations

import shutil
import sys
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from glue_server import Outcome
from reglue_bench.procedures import procedure_of
from reglue_bench.runs.observer import NullObserver, Observer, RunStarted

if TYPE_CHECKING:
    from reglue_bench.terminal.tally import Tally

_EVERY_S = 1.0


def observer(watcher: Observer | None, *, progress: bool) -> Observer:
    """The watcher of a run, by default one that shows its `progress` where this process prints.

    Nothing is shown in pipes and files.
    """
    if watcher is not None or not progress:
        return watcher or NullObserver()
    show = _in_notebook() or (_in_terminal if sys.stderr and sys.stderr.isatty() else None)
    return NullObserver() if show is None else StatusLine(show)


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


class StatusLine(RegularLine):
    """Shows the line once a run takes longer than a second, and removes it at its end."""

    def __init__(
        self,
        show: Callable[[str], None],
        clock: Callable[[], float] = time.monotonic,
        *,
        every_s: float = _EVERY_S,
    ) -> None:
        """`show` replaces the text that it showed before; an empty text removes it."""
        super().__init__(clock, every_s=every_s)
        self._show = show
        self._is_shown = False

    def show(self, tally: Tally, line: str) -> None:
        """Replace the line before."""
        self._show(line)
        self._is_shown = True

    def end(self) -> None:
        """Remove the line."""
        super().end()
        if self._is_shown:
            self._show("")


def _in_terminal(text: str) -> None:
    width = shutil.get_terminal_size().columns
    with suppress(OSError, ValueError):  # the terminal is gone
        sys.stderr.write(f"\r\x1b[2K{text[: width - 1]}")
        sys.stderr.flush()


def _in_notebook() -> Callable[[str], None] | None:
    """None where no notebook runs this process."""
    ipython: Any = sys.modules.get("IPython")
    shell = ipython and ipython.get_ipython()
    if shell is None or not hasattr(shell, "kernel"):
        return None
    handle: Any = None

    def show(text: str) -> None:
        nonlocal handle
        data = {"text/plain": text}
        if handle is None:
            handle = ipython.display.display(data, raw=True, display_id=True)
        else:
            handle.update(data, raw=True)

    return show
