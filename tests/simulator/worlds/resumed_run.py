"""A run that is resumed as often as its process ends before it is complete."""

from __future__ import annotations

import math
import shutil
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from glue_server import LOST
from glue_server.commands.command import INTERRUPTED, OK
from reglue import Steps
from reglue.errors import ReglueError, RunBusy, RunDamaged, StorageFailed, UsageError
from reglue.spec import Arrays
from reglue_bench.results.result import Result
from reglue_bench.run_folder import LEDGER
from reglue_bench.runs.ledger import LedgerReader, Row
from tests.reglue_bench.agents import Seeded
from tests.reglue_bench.toys import rows
from tests.simulator.scheduler import Process, Scheduler
from tests.simulator.worlds.exits import check_exit

_THINKS_S = 0.1  # of an agent, for an action
_STORAGE_WORDS = "what was committed is kept", "no run was begun"


@dataclass
class Lost:
    """The rows of episodes that an environment lost together."""

    rows: Sequence[Row]
    at: float  # the end of their process
    settled_by: float = math.inf  # the end of the process that settled them


class ResumedRun:
    """The folder of a run, and its rows once it is complete. Notes violations."""

    def __init__(self, run: Scheduler, *, may_fail: bool) -> None:
        """A process of a run that `may_fail` may end with faults."""
        self.rows: list[tuple[Any, ...]] = []
        self._run, self._may_fail = run, may_fail
        self._parent = Path(tempfile.mkdtemp(prefix="reglue-simulated-"))
        run.masked["FOLDER"] = str(self._parent)
        self.folder = self._parent / "run"
        self._committed: set[str] = set()
        self.lost: list[Lost] = []
        self._is_over = False

    def is_over(self) -> bool:
        """Whether it is complete, and its process has ended."""
        return self._is_over

    def go_on(self, resume: Callable[[], Result], begin: Callable[[], Result]) -> Result:
        """Resume the run in a process, or begin it if it has not begun."""
        try:
            result = _resumed(resume, begin)
        except ReglueError as error:
            self._check(error)
            raise
        if result.complete:
            self.rows = rows(result)
        elif result.ended_early is None:
            self._run.violate("it is not complete, and did not end early")
        return result

    def look(self, process: Process) -> None:
        """Check how its process has ended, and that no row is lost that was committed."""
        check_exit(self._run, process, may_fail=self._may_fail)
        self._look_for_rows()
        self._is_over = bool(self.rows) and process.exit_code in (OK, INTERRUPTED)

    def close(self) -> None:
        """Remove its folder."""
        shutil.rmtree(self._parent)

    def _look_for_rows(self) -> None:
        if not (self.folder / LEDGER).exists():
            return
        try:
            with LedgerReader(self.folder) as ledger:
                found = [*ledger.rows()]
        except (RunDamaged, StorageFailed) as error:
            self._check(error)
            return
        except UsageError:  # its process was killed before it had begun
            return
        for each in self.lost[-1:]:
            each.settled_by = min(each.settled_by, self._run.now)
        if together := [row for row in found if row.status == LOST]:
            self.lost.append(Lost(together, self._run.now))
        now = {repr(row) for row in found if row.status != LOST}
        if lost := self._committed - now:
            self._run.violate(f"rows that were committed are lost: {lost}")
        self._committed = now

    def _check(self, error: ReglueError) -> None:
        is_full = isinstance(error, StorageFailed)
        if is_full and any(each in str(error) for each in _STORAGE_WORDS):
            return
        if is_full or isinstance(error, RunDamaged):
            self._run.violate(str(error))


class Thinking(Seeded):
    """Takes a while for each action, so that commits come in the middle of a run."""

    def agent_step(
        self, rewards: npt.NDArray[np.float64], observations: Arrays, steps: Steps
    ) -> npt.NDArray[np.float64]:
        time.sleep(_THINKS_S)
        return super().agent_step(rewards, observations, steps)


def _resumed(resume: Callable[[], Result], begin: Callable[[], Result]) -> Result:
    try:
        return resume()
    except (RunBusy, RunDamaged):
        raise
    except UsageError:  # its process was killed before it had begun the run
        return begin()
