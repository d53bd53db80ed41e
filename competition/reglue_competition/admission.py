"""Admission of a phase's tasks before it is opened: are they exact, robust, and of some use?"""

from __future__ import annotations

import math
import tempfile
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

from env_adapters.environment_admission import admit
from reglue.environments.world import Cell
from reglue.errors import EnvironmentFault, NotAdmitted, raise_interrupt
from reglue_bench.evaluation import start
from reglue_bench.planning.resolve import suite_of
from reglue_bench.plans.keys import cell_key
from reglue_bench.procedures import procedure_of
from reglue_bench.rehearsal import Check
from reglue_bench.results.result import Result
from reglue_bench.runs.extremes import failures, told_failures
from reglue_bench.runs.observer import Observer
from reglue_bench.runs.run import Request
from reglue_competition.phases import Drawn

CELLS = 8
"""How many of a plan's episodes are played in every way that must agree."""

_RANDOM = "random"


def admission(drawn: Drawn, watcher: Observer) -> Iterator[Check]:
    """Check one benchmark of a phase, on the very cells that teams will play.

    Raises UsageError for a reference agent that cannot be started, and KeyboardInterrupt.
    """
    exact = _exact(drawn)
    yield exact
    if not exact.passed:
        return
    yield _robust(drawn)
    bars = drawn.entry.admit
    yield _check(_RANDOM, _played(drawn, _RANDOM, watcher), below=bars.random_below)
    if bars.reference is None:
        yield Check(None, "no reference agent: whether it can be solved was not checked")
    else:
        result = _played(drawn, bars.reference, watcher)
        yield _check(bars.reference, result, at_least=bars.reference_at_least)


def _exact(drawn: Drawn) -> Check:
    cells = list(_cells(drawn))
    try:
        admit(suite_of(drawn.plan, drawn.settings).build(), cells=cells)
    except NotAdmitted as error:
        return Check(False, f"not the same each time: {error}")
    except Exception as error:  # noqa: BLE001 - the edge of the organiser's environment
        raise_interrupt(error)
        return Check(False, f"its environment fails: {type(error).__name__}: {error}")
    return Check(True, f"{len(cells) or 'some'} episodes are the same to the bit, however played")


def _robust(drawn: Drawn) -> Check:
    """Whether agents can make its environment fail."""
    with tempfile.TemporaryDirectory(prefix="reglue-admit-") as folder:
        try:
            found = failures(drawn.plan, drawn.settings, Path(folder))
        except EnvironmentFault as error:
            return Check(False, f"its environment fails at extreme actions: {error}")
    if found:
        return Check(False, told_failures(found))
    return Check(True, "extreme actions do not make it fail")


def _cells(drawn: Drawn) -> Iterator[Cell]:
    """Some of the plan's, from all of its units; none if a unit's number of episodes is open."""
    procedure, key = procedure_of(drawn.plan), cell_key(drawn.settings.secret)
    for unit in range(0, procedure.units, math.ceil(procedure.units / CELLS)):
        for cell in islice(procedure.cells(unit), 1):
            yield drawn.plan.order(unit, cell, b"", key).cell


def _played(drawn: Drawn, agent: str, watcher: Observer) -> Result:
    """The whole plan, played by an agent that is started here."""
    settings = drawn.settings.model_copy(update={"agent": agent})
    with tempfile.TemporaryDirectory(prefix="reglue-admit-") as folder:
        result = start(Path(folder), Request(settings, drawn.plan), watcher)
    if result.ended_early is not None and result.ended_early.status == "interrupted":
        raise KeyboardInterrupt
    return result


def _check(
    agent: str, result: Result, *, below: float | None = None, at_least: float | None = None
) -> Check:
    score = result.score.value
    if result.ended_early is not None or score is None:
        why = "it has no score" if result.ended_early is None else result.ended_early.what
        return Check(False, f"{agent} did not play all of it: {why}")
    told = f"{agent} scores {score:z.3g}"
    if below is not None:
        return Check(score < below, f"{told}, wanted less than {below:g}")
    if at_least is not None:
        return Check(score >= at_least, f"{told}, wanted {at_least:g} or more")
    return Check(None, f"{told}; the competition file has no bar for it")
