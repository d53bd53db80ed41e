"""The committed rows of a run: they stay, whatever ends its processes."""

from __future__ import annotations

from pathlib import Path

from reglue.errors import ReglueError, RunDamaged, StorageFailed
from reglue_bench.run_folder import LEDGER
from reglue_bench.runs.ledger import Ledger
from tests.simulator.scheduler import Scheduler

_STORAGE_WORDS = "what was committed is kept", "no run was begun"


class CommittedRows:
    """Those that were there when it was looked the last time."""

    def __init__(self, run: Scheduler, folder: Path) -> None:
        self._run, self._folder = run, folder
        self._rows: set[str] = set()

    def look(self) -> None:
        """Note a violation if one of them is missing, or has changed."""
        if not (self._folder / LEDGER).exists():
            return
        try:
            with Ledger(self._folder) as ledger:
                now = {repr(row) for row in ledger.rows() if row.status != "environment_lost"}
        except (RunDamaged, StorageFailed) as error:
            if not is_storage_failure(error):
                self._run.violate(str(error))
            return
        except ReglueError:  # killed before it had begun
            return
        if lost := self._rows - now:
            self._run.violate(f"rows that were committed are lost: {lost}")
        self._rows = now


def is_storage_failure(error: ReglueError) -> bool:
    """Whether it says of the disk what is documented."""
    return isinstance(error, StorageFailed) and any(each in str(error) for each in _STORAGE_WORDS)
