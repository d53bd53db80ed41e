"""Rehearses a run in about a minute: short episodes show what would fail, and why."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path
from tempfile import TemporaryDirectory

from reglue.errors import UsageError
from reglue_bench.benchmark.benchmark import Benchmark, make_plan, suite_of
from reglue_bench.engines.run_environments import environment_of
from reglue_bench.evaluation import start
from reglue_bench.formatting import milliseconds
from reglue_bench.plans.plan import Plan
from reglue_bench.procedures import PROCEDURES, procedure_of
from reglue_bench.replay.recorded import order_of, rows_of
from reglue_bench.results.result import Result
from reglue_bench.runs.extremes import failure_text, failures
from reglue_bench.runs.ledger import LedgerReader, Row
from reglue_bench.runs.notes import Repeat
from reglue_bench.runs.observer import Observer
from reglue_bench.runs.ordinary_play import ordinary_play
from reglue_bench.runs.repeatability import repeat_episode
from reglue_bench.runs.run import Request, cell_key_of
from reglue_bench.settings import Settings

STALE = (
    "the agent reads observations that are no longer its own: it plays differently if they are "
    "overwritten; copy what it keeps"
)

HORIZON = 50  # steps: enough to see an agent start, step and end


@dataclass(frozen=True, slots=True)
class Check:
    """One check. `passed` is None for a remark."""

    passed: bool | None
    what: str


def shorten(settings: Settings) -> Settings:
    """The same benchmark and agent in short episodes: each slot twice, a wave, or two runs.

    Raises UsageError for an unknown benchmark.
    """
    benchmark = Benchmark.of(settings)
    source = benchmark.source
    if source.waits:
        raise UsageError(
            f"got {settings.benchmark}, whose environment connects by itself: a rehearsal needs "
            f"one that is made here, such as {source.procedure}:file.py:Class; or run `reglue "
            "bench`, briefly"
        )
    short: dict[str, object] = {"record": False, "keep_rewards": True}
    if source.is_metaworld:
        short |= {"episode_horizon": min(settings.episode_horizon, HORIZON)}
    plan = benchmark.resolve(settings.secret).plan
    short |= PROCEDURES[plan.procedure].rehearsal(plan)
    return settings.model_copy(update=short)


@dataclass(frozen=True, slots=True)
class _RehearsedRun:
    """A rehearsed run, in a folder that exists while runs are compared."""

    result: Result
    ledger: LedgerReader
    rows: Sequence[Row]


def rehearse(settings: Settings, watcher: Observer) -> list[Check]:
    """Play the shortened plan twice, each time in a new run, and check both.

    In the second one, the agent's client overwrites observations that are no longer the agent's.

    Raises UsageError for an unknown benchmark or an agent that cannot be started, and
    KeyboardInterrupt after Ctrl-C.
    """
    short = shorten(settings)
    plan = make_plan(short, watcher.drawing)
    with ExitStack() as closing:
        first = _play(short, plan, watcher, closing)
        checks = _faults(first.result, first.rows)
        if any(check.passed is False for check in checks):
            return checks
        poisoned = short.model_copy(update={"poisons": True})
        again = _play(poisoned, plan, watcher, closing)
        if _differing(first, again) and not _differing(
            again, _play(poisoned, plan, watcher, closing)
        ):
            checks.append(Check(False, STALE))
        else:
            checks += _repeatable(first, again, short)
    checks.append(_bounds(first.result))
    checks += _shown(short, plan, first.rows, limit=settings.episode_limit)
    checks += _extremes(short, plan)
    checks.append(_speed(first.result, settings.step_timeout))
    return checks


def _play(settings: Settings, plan: Plan, watcher: Observer, closing: ExitStack) -> _RehearsedRun:
    folder = Path(closing.enter_context(TemporaryDirectory(prefix="reglue-try-")))
    result = start(folder, Request(settings, plan), watcher)
    if result.ended_early is not None and result.ended_early.status == "interrupted":
        raise KeyboardInterrupt
    ledger = closing.enter_context(LedgerReader(folder))
    return _RehearsedRun(result, ledger, list(ledger.rows()))


def _faults(result: Result, rows: Sequence[Row]) -> list[Check]:
    if result.agent.name == "nobody":
        checks = []
    else:
        checks = [Check(True, f"{result.agent.name} joined and received the task")]
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
        checks.append(Check(True, _summary(result, rows)))
        procedure = PROCEDURES[result.procedure]
        if procedure.counts_steps and not any(row.k for row in rows):  # each unit is one episode
            what = f"no episode ended within {rows[0].steps} steps, so agent_end was not rehearsed"
            checks.append(Check(None, what))
    return checks


def _summary(result: Result, rows: Sequence[Row]) -> str:
    units, called = len({row.unit for row in rows}), PROCEDURES[result.procedure].unit
    within = "" if called == "unit" else f" in {units} {called}{'s' * (units > 1)}"
    return f"played {len(rows)} short episodes{within}, {result.slots} at once"


def _repeatable(first: _RehearsedRun, again: _RehearsedRun, settings: Settings) -> list[Check]:
    """Checks that both runs are the same; else they say whether agent or environment differs."""
    doubted = [each for each in first.result.repeats if not each.repeatable]
    remarks = [Check(None, str(each)) for each in doubted]
    differ = _differing(first, again)
    if not differ:
        same = "a second run gave the same episodes to the bit"
        if not any(each.repeatable is False for each in doubted):
            return [Check(True, same), *remarks]
        other = f"{same}; one that is resumed, or has other slots, is "
        return [
            Check(None, (other if each.repeatable is False else "") + str(each)) for each in doubted
        ]
    what = "a second run gave other episodes"
    repeats = {each.who: each for each in first.result.repeats}
    environment, agent = repeats.get("environment"), repeats.get("agent")
    if environment and environment.repeatable and differ[0] is not None:
        environment = _repeated(first.ledger, differ[0], settings) or environment
        remarks += [Check(None, str(environment))] * (not environment.repeatable)
    if environment is None or environment.repeatable is None:
        return [*remarks, Check(None, f"{what}, because of the environment or the agent")]
    if not environment.repeatable:
        return [*remarks, Check(None, f"{what}: the environment is not repeatable")]
    if agent and agent.repeatable is False:
        return [*remarks, Check(None, f"{what}: the agent is not repeatable")]
    return [
        *remarks,
        Check(
            None,
            f"not repeatable, because of the agent: {what}, and the environment plays the same "
            "actions alike; seed all of the agent's random numbers by starts.seeds",
        ),
    ]


def _differing(first: _RehearsedRun, again: _RehearsedRun) -> list[Row | None]:
    """Rows of the first run that the second one does not have."""
    return [
        row
        for row, other in zip_longest(first.rows, again.rows)
        if row is None or other is None or _bits(first, row) != _bits(again, other)
    ]


def _bits(run: _RehearsedRun, row: Row) -> tuple[object, ...]:
    """The actions and rewards of an episode, if they are kept, and what became of it."""
    place = (row.unit, row.attempt, row.k)
    arrays = (run.ledger.actions(*place), run.ledger.rewards(*place).tobytes())
    return (*arrays, row.return_, row.steps, row.success, row.status)


def _repeated(ledger: LedgerReader, row: Row, settings: Settings) -> Repeat | None:
    """Play an episode of a run again, by its actions; None if they are not kept."""
    about, plan = ledger.about, Plan.from_json(ledger.about["plan"])
    before = sum(each.steps for each in rows_of(ledger, row.unit) if each.k < row.k)
    outcome = ledger.outcome(row, order_of(plan, row, before, cell_key_of(about)))
    if not (outcome.actions and outcome.rewards):
        return None
    suite = suite_of(plan, settings)
    with closing(environment_of(suite, plan, settings, ledger.folder)) as environment:
        return repeat_episode(outcome, environment, procedure_of(plan), most_steps=row.steps)


def _shown(
    settings: Settings, plan: Plan, rows: Sequence[Row], *, limit: int | None
) -> list[Check]:
    """Remarks if observations hold NaN, or no episode ends; `limit` is that of the run."""
    with TemporaryDirectory(prefix="reglue-try-") as folder:
        shown = ordinary_play(plan, settings, Path(folder), steps=HORIZON)
    checks = []
    if shown.nan:
        what = f"{shown.nan} of {shown.observations} observations held NaN"
        checks.append(Check(None, what))
    cut_at = int(plan.parameters.get("episode_limit", 0))
    is_endless = cut_at > 0 and all(row.steps >= cut_at for row in rows)
    if is_endless and not (shown.horizon or limit):
        what = (
            f"no episode ended by itself within {cut_at} steps, and the environment has no time "
            "limit: --episode-limit sets one"
        )
        checks.append(Check(None, what))
    return checks


def _extremes(settings: Settings, plan: Plan) -> list[Check]:
    """A remark if agents can make the environment fail."""
    with TemporaryDirectory(prefix="reglue-try-") as folder:
        failed = failures(plan, settings, Path(folder))
    if not failed:
        return [Check(True, "the environment plays extreme actions without failing")]
    return [Check(None, failure_text(failed))]


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
