"""Rehearses a run in about a minute: short episodes show what would fail, and why."""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from reglue.errors import UsageError
from reglue_bench.evaluation import start
from reglue_bench.plans.names import BenchmarkName
from reglue_bench.plans.plan import Plan
from reglue_bench.plans.resolve import make_plan
from reglue_bench.procedures import PROCEDURES
from reglue_bench.results.result import Result
from reglue_bench.runs.ledger import LedgerReader, Row
from reglue_bench.runs.run import Request
from reglue_bench.settings import Settings
from reglue_bench.terminal.observer import Observer
from reglue_bench.terminal.words import milliseconds

HORIZON = 50  # steps: enough to see an agent start, step and end


@dataclass(frozen=True, slots=True)
class Check:
    """One check. `passed` is None for a remark."""

    passed: bool | None
    what: str


def shorten(settings: Settings) -> Settings:
    """The same benchmark and agent: short episodes, each slot used twice, a wave, or two runs.

    Raises UsageError for an unknown benchmark.
    """
    name = BenchmarkName.parse(settings.benchmark)
    if name.waits:
        raise UsageError(
            f"got {settings.benchmark}, whose environment connects by itself: a rehearsal needs "
            f"one that is made here, such as {name.procedure}:file.py:Class; or run `reglue "
            "bench`, briefly"
        )
    short: dict[str, object] = {"record": False}
    if name.is_metaworld:
        short |= {"episode_horizon": min(settings.episode_horizon, HORIZON)}
    plan = make_plan(settings)
    short |= PROCEDURES[plan.procedure].rehearsal(plan)
    return settings.model_copy(update=short)


def rehearse(settings: Settings, watcher: Observer) -> list[Check]:
    """Play the shortened plan twice, each time in a new run, and check both.

    Raises UsageError for an unknown benchmark or an agent that cannot be started, and
    KeyboardInterrupt after Ctrl-C.
    """
    short = shorten(settings)
    plan = make_plan(short, watcher.drawing)
    first, rows = _play(short, plan, watcher)
    checks = _faults(first, rows)
    if any(check.passed is False for check in checks):
        return checks
    _, again = _play(short, plan, watcher)
    checks.append(_repeatable(rows, again))
    checks.append(_bounds(first))
    checks.append(_speed(first, settings.step_timeout))
    return checks


def _play(settings: Settings, plan: Plan, watcher: Observer) -> tuple[Result, list[Row]]:
    with tempfile.TemporaryDirectory(prefix="reglue-try-") as folder:
        result = start(Path(folder), Request(settings, plan), watcher)
        if result.ended_early is not None and result.ended_early.status == "interrupted":
            raise KeyboardInterrupt
        with LedgerReader(Path(folder)) as ledger:
            return result, list(ledger.rows())


def _faults(result: Result, rows: Sequence[Row]) -> list[Check]:
    if result.agent.name == "nobody":
        checks = []
    else:
        checks = [Check(True, f"{result.agent.name} joined and was told the task")]
    if result.ended_early is not None:
        checks.append(Check(False, f"{result.ended_early.status}: {result.ended_early.what}"))
    details = Counter((row.status, row.detail) for row in rows if row.status != "ok")
    ended = result.ended_early.what if result.ended_early else ""
    checks += [
        Check(False, f"{count} episodes ended as {status}: {detail}")
        for (status, detail), count in details.most_common(5)
        if not ended.startswith(detail)
    ]
    if not details and result.complete:
        checks.append(Check(True, _played(result, rows)))
        procedure = PROCEDURES[result.procedure]
        if procedure.counts_steps and not any(row.k for row in rows):  # each unit is one episode
            what = f"no episode ended within {rows[0].steps} steps, so agent_end was not rehearsed"
            checks.append(Check(None, what))
    return checks


def _played(result: Result, rows: Sequence[Row]) -> str:
    units, called = len({row.unit for row in rows}), PROCEDURES[result.procedure].unit
    within = "" if called == "unit" else f" in {units} {called}{'s' * (units > 1)}"
    return f"played {len(rows)} short episodes{within}, {result.slots} at once"


def _repeatable(rows: Sequence[Row], again: Sequence[Row]) -> Check:
    if [(row.return_, row.steps) for row in rows] == [(row.return_, row.steps) for row in again]:
        return Check(True, "a second run gave the same episodes to the bit")
    return Check(
        None,
        "a second run gave other episodes: the agent draws random numbers of its own; seed them by "
        "starts.seeds, and a run can be repeated",
    )


def _bounds(result: Result) -> Check:
    share = result.clipped_steps / max(result.steps.counted, 1)
    if not share:
        return Check(True, "every action lay within its bounds")
    return Check(None, f"{share:.0%} of the actions lay out of bounds and were clipped")


def _speed(result: Result, limit_s: float) -> Check:
    turns = max(result.steps.counted / result.slots, 1)
    turn_s = result.seconds.agent / turns
    return Check(
        turn_s < limit_s / 2,
        f"about {milliseconds(turn_s)} a turn of {result.slots} slots, starting up included "
        f"(--step-timeout is {limit_s:g} s)",
    )
