"""Plays what is left of a run, scores it, and writes its dataset."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from glue_server.processes.interrupts import interruptible, uninterrupted
from reglue_bench.datasets.recording import write_recorded
from reglue_bench.datasets.source import check_extra
from reglue_bench.plans.plan import Plan
from reglue_bench.results.read_run import score_of
from reglue_bench.results.result import Result
from reglue_bench.runs.ledger import Ledger
from reglue_bench.runs.notes import Ending
from reglue_bench.runs.observer import Observer
from reglue_bench.runs.run import Request, is_recorded
from reglue_bench.runs.session import Session


def carry_out(folder: Path, ledger: Ledger, request: Request, watcher: Observer) -> Result:
    """Play what is left of a run, and score it; writes result.json.

    An agent's fault, an environment that fails for good, and Ctrl-C end it early:
    the result says so, and what was finished is kept. A Ctrl-C after the play is raised when
    all is done.
    """
    began = time.perf_counter()
    # The ledger's plan has the run's own order of trials.
    request = replace(request, plan=Plan.from_json(ledger.about["plan"]))
    recorded = is_recorded(folder, request.settings)
    if recorded:
        check_extra()
    with uninterrupted():
        session = Session(folder, ledger, request, watcher, began)
        try:
            # Before peers are closed: a peer that does not leave delays no result.
            ending = session.play()
            if ending is None:
                session.check_repeatable()
            result = conclude(folder, ledger, ending)
        finally:
            session.close()
        if recorded:
            _write_dataset(folder, result, watcher.say)
    return result


def _write_dataset(folder: Path, result: Result, say: Callable[[str], None]) -> None:
    """Write the dataset of a recorded run. After Ctrl-C `reglue dataset export` does it."""
    ended = result.ended_early
    is_interrupted = ended is not None and ended.status == "interrupted"
    if is_interrupted or interruptible(lambda: write_recorded(folder, say)):
        say(
            f"no dataset was written; `reglue dataset export {folder} PATH` writes what was "
            "recorded"
        )


def conclude(folder: Path, ledger: Ledger, ending: Ending | None) -> Result:
    """Score what was played of a run; writes result.json."""
    with uninterrupted(then_raise=False):
        ledger.end_session(None if ending is None else ending.model_dump_json())
        result = score_of(ledger)
        result.write(folder)
    return result
