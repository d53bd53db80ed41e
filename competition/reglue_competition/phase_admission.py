"""Checks a phase's tasks before it opens: are they deterministic, robust and of some use?"""

from __future__ import annotations

import math
import tempfile
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

from env_adapters.determinism import check_determinism
from reglue.errors import EnvironmentFault, EnvironmentFull, NotDeterministic, raise_interrupt
from reglue.messages.environment_messages import Cell
from reglue_bench.benchmark.benchmark import suite_of
from reglue_bench.benchmark.declared import declared_repeatable
from reglue_bench.evaluation import start
from reglue_bench.plans.keys import cell_key
from reglue_bench.procedures import procedure_of
from reglue_bench.rehearsal import Check
from reglue_bench.results.result import Result
from reglue_bench.runs.extremes import failure_text, failures
from reglue_bench.runs.observer import Observer
from reglue_bench.runs.run import Request
from reglue_competition.phases import PlannedBenchmark

CELLS = 8
"""The number of a plan's episodes that are played in each way; all ways must agree to the bit."""

_RANDOM = "random"


def admission(benchmark: PlannedBenchmark, watcher: Observer) -> Iterator[Check]:
    """Check one benchmark of a phase, on the very cells that teams will play.

    Raises UsageError for a reference agent that cannot be started, and KeyboardInterrupt.
    """
    exact = _exact(benchmark)
    yield exact
    if exact.passed is False:
        return
    yield _robust(benchmark)
    bars = benchmark.entry.admit
    yield _check(_RANDOM, _play(benchmark, _RANDOM, watcher), below=bars.random_below)
    if bars.reference is None:
        yield Check(
            None, "no reference agent, so it was not checked whether the tasks can be solved"
        )
    else:
        result = _play(benchmark, bars.reference, watcher)
        yield _check(bars.reference, result, at_least=bars.reference_at_least)


def _exact(benchmark: PlannedBenchmark) -> Check:
    if not declared_repeatable(benchmark.plan):
        return Check(
            None, "its environment says that it is not repeatable, so no episodes were compared"
        )
    cells, alone = list(_cells(benchmark)), ""
    try:
        with suite_of(benchmark.plan, benchmark.settings).opened() as suite:
            try:
                check_determinism(suite, cells=cells)
            except EnvironmentFull:
                check_determinism(suite, cells=cells, is_alone=True)
                alone = " but beside another episode, as it plays one at a time"
    except NotDeterministic as error:
        return Check(False, f"not deterministic: {error}")
    except Exception as error:  # noqa: BLE001 - the edge of the organiser's environment
        raise_interrupt(error)
        return Check(False, f"its environment fails: {type(error).__name__}: {error}")
    same = f"{len(cells) or 'some'} episodes are the same to the bit in every way of playing{alone}"
    return Check(True, same)


def _robust(benchmark: PlannedBenchmark) -> Check:
    """Check whether extreme actions make the environment fail."""
    with tempfile.TemporaryDirectory(prefix="reglue-admit-") as folder:
        try:
            failed = failures(benchmark.plan, benchmark.settings, Path(folder))
        except EnvironmentFault as error:
            return Check(False, f"its environment fails at extreme actions: {error}")
    if failed:
        return Check(False, failure_text(failed))
    return Check(True, "extreme actions do not make it fail")


def _cells(benchmark: PlannedBenchmark) -> Iterator[Cell]:
    """Some cells of the plan, spread over its units; none if the length of units is open."""
    procedure, key = procedure_of(benchmark.plan), cell_key(benchmark.settings.secret)
    for unit in range(0, procedure.units, math.ceil(procedure.units / CELLS)):
        for cell in islice(procedure.cells(unit), 1):
            yield benchmark.plan.order(unit, cell, b"", key).cell


def _play(benchmark: PlannedBenchmark, agent: str, watcher: Observer) -> Result:
    """Start an agent here and let it play the whole plan."""
    settings = benchmark.settings.model_copy(update={"agent": agent})
    with tempfile.TemporaryDirectory(prefix="reglue-admit-") as folder:
        result = start(Path(folder), Request(settings, benchmark.plan), watcher)
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
    text = f"{agent} scores {score:z.3g}"
    if below is not None:
        return Check(score < below, f"{text}, wanted less than {below:g}")
    if at_least is not None:
        return Check(score >= at_least, f"{text}, wanted {at_least:g} or more")
    return Check(None, f"{text}; the competition file has no bar for it")
