"""Reads a run's result from its folder, as far as the run has come."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path

from reglue_bench.results.episodes import Episodes
from reglue_bench.results.result import Result, read_result
from reglue_bench.results.scoring import score_of
from reglue_bench.run_folder import LEDGER
from reglue_bench.runs.ledger import LedgerReader, warn_of_lost_journal


def read_run(folder: Path) -> Result:
    """The result of a run, also while it goes on, or of a result.json alone.

    If there is a ledger it is scored again, and so checked; nothing is written.
    Raises UsageError if there is no run, and RunDamaged if the ledger was changed.
    """
    if not (folder / LEDGER).exists():
        return read_result(folder)
    with LedgerReader(folder) as ledger:
        warn_of_lost_journal(folder)
        return score_of(ledger)


def in_temporary_folder(play: Callable[[Path], Result]) -> Result:
    """The result of a run whose folder lasts as long as the result's episodes do."""
    folder = Path(tempfile.mkdtemp(prefix="reglue-"))
    try:
        result = play(folder)
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    return result.with_episodes(Episodes(folder, is_temporary=True))
