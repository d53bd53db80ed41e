"""Views of a snapshot: what anybody may see, and what a team may see of its own submission.

Before a phase is revealed, a public view holds nothing but scores that depends on its secret: no
goals, no details of faults, plans' digests, seeds, versions or parameters; and no hidden tasks,
see `sight`.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from types import MappingProxyType

from reglue_bench.formatting import count, listed
from reglue_bench.results.result import Result
from reglue_bench.results.success import is_agents_fault
from reglue_competition.definition import Definition, PhaseDefinition
from reglue_competition.page.site import Snapshot
from reglue_competition.page.views import words
from reglue_competition.page.views.drawings import bar, scale
from reglue_competition.page.views.records import (
    AppealView,
    BenchmarkView,
    Board,
    EventView,
    More,
    PhaseView,
    Place,
    Playing,
    SubmissionView,
)
from reglue_competition.page.views.sight import Reader
from reglue_competition.ranking import RULE, SCORED, Leaderboard, Row
from reglue_competition.store import UNFINISHED, Appeal, Event, Phase, Run, Submission

MOST_WAITING = 10
"""Submissions in the queue that a leaderboard names."""

REPLAYED = ("broken", "failed", "cancelled")
"""What the organiser may have played again."""

_MOST_DETAIL = 300  # characters of an event's

_OF_A_FILE = re.compile(r"[/\\]|\.py|\.toml|:.*:")


def benchmark_names(definition: Definition, phase: PhaseDefinition) -> list[str]:
    """What a phase's benchmarks are called; those of the organiser's own files have numbers."""
    names = [each.benchmark for each in phase.benchmarks]
    if not definition.agents_see.tasks:
        names = [
            f"hidden benchmark {place}" if _OF_A_FILE.search(name) else name
            for place, name in enumerate(names, 1)
        ]
    return [
        f"{name} ({place})" if names.count(name) > 1 else name
        for place, name in enumerate(names, 1)
    ]


def board(snapshot: Snapshot, phase: Phase) -> Board:
    """A phase's leaderboard."""
    found = snapshot.boards.get(phase.name)
    names = benchmark_names(snapshot.definition, snapshot.definition.phase(phase.name))
    rows = found.rows if found else ()
    measures = found.measures if found else [None] * len(names)
    plays = snapshot.of_phase(phase.name, "playing")
    waits = snapshot.of_phase(phase.name, "waiting")
    spreads = ((row.score, row.interval95) for row in rows)
    low, high = scale(spreads, is_rate=words.are_rates(measures))
    return Board(
        phase=phase_view(snapshot, phase),
        places=[_place(row, rows, found, (low, high)) for row in rows] if found else (),
        benchmarks=names,
        scale=(words.total(low, measures), words.total(high, measures)),
        verdict=_verdict(rows),
        rule=RULE,
        playing=[playing(each, snapshot) for each in [*plays, *waits[:MOST_WAITING]]],
        more_wait=max(0, len(waits) - MOST_WAITING),
    )


def phase_view(snapshot: Snapshot, phase: Phase, revealed: Collection[str] = ()) -> PhaseView:
    """A phase, its dates and what it is committed to; `revealed` are the names of some."""
    definition = snapshot.definition.phase(phase.name)
    names = benchmark_names(snapshot.definition, definition)
    total = sum(each.weight for each in definition.benchmarks)
    quotas = snapshot.definition.quotas_of(definition)
    told = (
        (quotas.a_day, "a day"),
        (quotas.at_once, "at once"),
        (quotas.in_all, "in all"),
    )
    return PhaseView(
        name=phase.name,
        kind=phase.kind,
        state=phase.state,
        open_asked=phase.open_asked,
        opens=words.minute(phase.opens_at),
        closes=words.minute(phase.closes_at),
        benchmarks=[
            f"{name}, {100 * each.weight / total:.3g} % of the score" if len(names) > 1 else name
            for name, each in zip(names, definition.benchmarks, strict=True)
        ],
        quotas=listed([f"{count(n)} {what}" for n, what in told if n is not None] or ["no limit"]),
        commitment=phase.plan_commitment or "",
        is_revealed=phase.name in revealed,
    )


def playing(submission: Submission, snapshot: Snapshot) -> Playing:
    """How far a submission has come."""
    told = submission.progress
    done, planned = _number(told.get("done")), _number(told.get("total"))
    progress = "in the queue"
    begins = snapshot.definition.round_of(submission.phase, submission.queued_at)
    if begins is not None and begins > snapshot.at:
        progress += f", for the round that begins at {words.minute(begins)}"
    if submission.status == "playing":
        definition = snapshot.definition
        names = benchmark_names(definition, definition.phase(submission.phase))
        index = min(_number(told.get("index")), len(names) - 1)
        which = f"{index + 1} of {len(names)}: " if len(names) > 1 else ""
        progress = f"{which}{names[index]}"
        if planned:
            unit = "steps" if told.get("counted_in") == "steps" else "episodes"
            progress += f", {count(done)} of {count(planned)} {unit}"
    return Playing(
        submission=submission.id,
        team=submission.team,
        name=submission.name,
        status=submission.status,
        progress=progress,
        done=min(done, planned),
        planned=planned,
    )


def submission_view(
    snapshot: Snapshot,
    submission: Submission,
    runs: Sequence[Run],
    reader: Reader = "public",
    more: Mapping[int, More] = MappingProxyType({}),
) -> SubmissionView:
    """A submission; with what its agent did wrong, to its own team and the organiser.

    What an environment said goes to the organiser alone, as it may tell of hidden tasks.
    `more` is what the reader may see besides, by the place of its benchmark.
    """
    phase = snapshot.definition.phase(submission.phase)
    names = benchmark_names(snapshot.definition, phase)
    is_owners = reader != "public"
    shown: tuple[str, ...] = (*SCORED, "playing") if is_owners else SCORED
    by_place = {run.index: run for run in runs if submission.status in shown}
    is_told = reader == "organiser" or (is_owners and submission.status != "broken")
    found = snapshot.boards.get(submission.phase)
    row = next((r for r in found.rows if r.submission.id == submission.id), None) if found else None
    measures = found.measures if found else ()
    times = (
        ("entered", submission.queued_at),
        ("began", submission.started_at),
        ("ended", submission.ended_at),
    )
    return SubmissionView(
        id=submission.id,
        team=submission.team,
        name=submission.name,
        phase=submission.phase,
        status=submission.status,
        meaning=words.MEANINGS[submission.status],
        detail=submission.detail if is_told else "",
        times=[(what, words.minute(at)) for what, at in times if at],
        playing=playing(submission, snapshot) if submission.status in UNFINISHED else None,
        score=words.total(row.score, measures) if row else "",
        interval=words.totals(row.interval95, measures) if row else "",
        rank=_rank(row, found.rows) if row and found else "",
        benchmarks=[
            _benchmark(name, by_place.get(place), more.get(place, More()), is_owners=is_owners)
            for place, name in enumerate(names)
        ],
        may_cancel=reader == "organiser" and submission.status in UNFINISHED,
        may_play_again=reader == "organiser" and submission.status in REPLAYED,
    )


def event_view(event: Event) -> EventView:
    """An event in a line, to the organiser."""
    told = ", ".join(
        f"{name} {f'{each:z.4g}' if isinstance(each, float) else each}"
        for name, each in event.detail.items()
        if each not in ("", None)
    )
    run = "" if event.run is None else f"run {event.run}, "
    detail = (run + told).removesuffix(", ")
    return EventView(
        at=words.second(event.at),
        kind=event.kind,
        team=event.team or "",
        submission=event.submission or "",
        detail=detail if len(detail) <= _MOST_DETAIL else f"{detail[: _MOST_DETAIL - 1]}…",
    )


def appeal_view(appeal: Appeal) -> AppealView:
    """An appeal, to its team and the organiser."""
    return AppealView(
        id=appeal.id,
        at=words.minute(appeal.at),
        team=appeal.team,
        submission=appeal.submission,
        text=appeal.text,
        answer=appeal.answer,
        answered=words.minute(appeal.answered_at),
    )


def _place(row: Row, rows: Sequence[Row], found: Leaderboard, scale: tuple[float, float]) -> Place:
    faults = sum(row.faults.values())
    return Place(
        rank="–" if row.rank is None else str(row.rank),
        is_shared=_is_shared(row, rows),
        team=row.team,
        submission=row.submission.id,
        score=words.total(row.score, found.measures),
        interval=words.totals(row.interval95, found.measures),
        bar=bar(row.score, row.interval95, scale),
        scores=[
            words.amount(run.score, measure)
            for run, measure in zip(row.runs, found.measures, strict=True)
        ],
        faults=count(faults) if faults else "",
        has_failed=row.submission.status == "failed",
    )


def _rank(row: Row, rows: Sequence[Row]) -> str:
    if row.rank is None:
        return "–"
    return f"{row.rank}, shared" if _is_shared(row, rows) else str(row.rank)


def _is_shared(row: Row, rows: Sequence[Row]) -> bool:
    return row.rank is not None and sum(each.rank == row.rank for each in rows) > 1


def _verdict(rows: Sequence[Row]) -> str:
    first = [row.team for row in rows if row.rank == 1]
    if len(first) == 1 < len(rows):
        return f"{first[0]} is ahead of all others."
    if len(first) > 1 and len(first) == len([row for row in rows if row.rank]):
        return "So far no two teams can be told apart."
    if len(first) > 3:
        return f"{len(first)} teams share the first rank: they cannot be told apart."
    return f"{listed(first)} share the first rank." if len(first) > 1 else ""


def _benchmark(name: str, run: Run | None, more: More, *, is_owners: bool) -> BenchmarkView:
    if run is None or not run.result:
        return BenchmarkView(name, "", "–", "", None, ())
    result = Result.model_validate_json(run.result)
    score, interval = result.score.value, result.interval95
    measure = result.measure
    counts = {status: n for status, n in result.status_counts.items() if status != "ok" and n}
    details = [
        (words.fault(each.status), each.detail, count(each.count))
        for each in result.faults
        if is_agents_fault(each.status)
    ]
    return BenchmarkView(
        name=name,
        status=measure.name,
        score=words.amount(score, measure),
        interval=words.amounts(interval, measure),
        bar=bar(score, interval, (0.0, 1.0)) if measure.is_rate else None,
        faults=[*words.faults(counts), *words.tries(result.episodes_retried)],
        details=details if is_owners else (),
        more=more,
    )


def _number(told: object) -> int:
    return max(0, int(told)) if isinstance(told, int | float) else 0
