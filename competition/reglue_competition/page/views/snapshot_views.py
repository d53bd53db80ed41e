"""Views of a snapshot: what anybody may see, and what a team may see of its own submission.

Before a phase is revealed, a public view holds nothing but scores that depends on its secret: no
goals, no details of faults, plans' digests, seeds, versions or parameters; and no hidden tasks,
see `visibility`.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Collection, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import MappingProxyType

from reglue.errors import UsageError
from reglue_bench.formatting import count, listed, number, plural, span
from reglue_bench.results.scoring import is_agents_fault
from reglue_competition.backup import BACKED_UP
from reglue_competition.definition import (
    BenchmarkEntry,
    Definition,
    PhaseDefinition,
    Ranking,
    Total,
    Track,
    may_overlap,
)
from reglue_competition.page.anonymity import hides_names
from reglue_competition.page.site import Snapshot, board_name
from reglue_competition.page.views import wording
from reglue_competition.page.views.agent_log import may_read_log
from reglue_competition.page.views.charts import bar, scale
from reglue_competition.page.views.view_models import (
    AppealView,
    BenchmarkView,
    Board,
    EventView,
    More,
    PhaseView,
    Place,
    Playing,
    RulingView,
    SubmissionView,
)
from reglue_competition.page.views.visibility import Reader
from reglue_competition.ranking import HOW_CHOSEN, Leaderboard, Row, result_of_run, rule
from reglue_competition.store import (
    SCORED,
    UNFINISHED,
    Appeal,
    Event,
    Phase,
    Ruling,
    Run,
    Store,
    Submission,
)

MOST_WAITING = 10
"""Submissions in the queue that a leaderboard names."""

REPLAYED = ("broken", "failed", "cancelled")
"""Statuses of submissions that the organiser may play again."""

_MOST_DETAIL = 300  # characters of an event's

_OF_A_FILE = re.compile(r"[/\\]|\.py|\.toml|:.*:")

_DAY = timedelta(days=1)


def benchmark_names(definition: Definition, phase: PhaseDefinition) -> list[str]:
    """The public names of a phase's benchmarks; the organiser's own files get numbers."""
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


def board(
    snapshot: Snapshot, phase: Phase, withheld: str = "", track: Track | None = None
) -> Board:
    """A phase's leaderboard, or that of one of its tracks.

    It is without scores where they are `withheld` from the reader: why.
    """
    name = board_name(phase.name, track)
    leaderboard = None if withheld else snapshot.boards.get(name)
    ranking, of = snapshot.definition.ranking, snapshot.definition.phase(phase.name)
    counted = [
        (name, each)
        for place, (name, each) in enumerate(
            zip(benchmark_names(snapshot.definition, of), of.benchmarks, strict=True)
        )
        if track is None or track.holds(place)
    ]
    rows = leaderboard.rows if leaderboard else ()
    ranked = [row for row in rows if row.rank is not None]
    plays = snapshot.of_phase(phase.name, "playing")
    waits = snapshot.of_phase(phase.name, "waiting")
    spreads = [(row.score, row.interval95) for row in rows if ranking.total == "score"]
    is_rate = leaderboard is None or leaderboard.is_rate
    is_scaled = any(each.scale for _, each in counted)
    low, high = scale(spreads, is_rate=is_rate and not is_scaled)
    return Board(
        phase=phase_view(snapshot, phase),
        track=track.name if track else "",
        tracks=[each.name for each in of.tracks],
        places=[_place(row, rows, leaderboard, (low, high)) for row in rows] if leaderboard else (),
        benchmarks=[name for name, _ in counted],
        scale=(wording.total(low, is_rate=is_rate), wording.total(high, is_rate=is_rate)),
        withheld=withheld,
        is_anonymous=hides_names(snapshot, phase.name),
        freeze=_freeze(snapshot, phase) if not withheld else "",
        verdict=_verdict(ranked, ranking),
        rule=rule(ranking, len(ranked)),
        playing=[playing(each, snapshot) for each in [*plays, *waits[:MOST_WAITING]]],
        more_wait=max(0, len(waits) - MOST_WAITING),
    )


def _freeze(snapshot: Snapshot, phase: Phase) -> str:
    at = snapshot.freezes_at(phase.name)
    return "" if at is None else wording.freeze(at, datetime.now(UTC))


def phase_view(snapshot: Snapshot, phase: Phase, revealed: Collection[str] = ()) -> PhaseView:
    """A phase, its dates and what it is committed to; `revealed` are the names of some."""
    definition = snapshot.definition.phase(phase.name)
    names = benchmark_names(snapshot.definition, definition)
    voids = snapshot.voids.get(phase.name, {})
    counted = [each for place, each in enumerate(definition.benchmarks) if place not in voids]
    total, of = sum(each.weight for each in counted), snapshot.definition.ranking.total
    quotas = snapshot.definition.quotas_of(definition)
    limits = ((quotas.a_day, "a day"), (quotas.at_once, "at once"), (quotas.in_all, "in all"))
    return PhaseView(
        name=phase.name,
        kind=phase.kind,
        state=phase.state,
        open_asked=phase.open_asked,
        opens=wording.minute(phase.opens_at),
        closes=wording.minute(phase.closes_at),
        benchmarks=[
            name + _share(each, total, voids.get(place), of=of, is_alone=len(names) == 1)
            for place, (name, each) in enumerate(zip(names, definition.benchmarks, strict=True))
        ],
        quotas=listed(
            [f"{count(n)} {what}" for n, what in limits if n is not None] or ["no limit"]
        ),
        commitment=phase.plan_commitment or "",
        is_revealed=phase.name in revealed,
        is_free=all(
            may_overlap(phase.kind, each.kind) for each in snapshot.phases if each.state == "open"
        ),
    )


def _share(
    entry: BenchmarkEntry, total: float, void: str | None, *, of: Total, is_alone: bool
) -> str:
    """What a benchmark's weight is to the `total` of all; empty if it is the total."""
    if void is not None:
        return f", void: {void}"
    share = "" if is_alone else f", {100 * entry.weight / total:.3g} % of the {of}"
    if entry.scale is None:
        return share
    return f"{share}, where {number(entry.scale[0])} is 0 and {number(entry.scale[1])} is 1"


def playing(submission: Submission, snapshot: Snapshot) -> Playing:
    """The progress of a submission."""
    latest = submission.progress
    done, planned = _number(latest.get("done")), _number(latest.get("total"))
    progress = "in the queue"
    begins = snapshot.definition.round_of(submission.phase, submission.queued_at)
    if begins is not None and begins > snapshot.at:
        progress += f", for the round that begins at {wording.minute(begins)}"
    phase = snapshot.phase(submission.phase)
    if phase is not None and (until := submission.waits_until(phase)) is not None:
        progress += f"; it is withdrawn if its agent does not come by {wording.minute(until)}"
    if submission.status == "playing":
        definition = snapshot.definition
        names = benchmark_names(definition, definition.phase(submission.phase))
        index = min(_number(latest.get("index")), len(names) - 1)
        which = f"{index + 1} of {len(names)}: " if len(names) > 1 else ""
        progress = f"{which}{names[index]}"
        if planned:
            unit = "steps" if latest.get("counted_in") == "steps" else "episodes"
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
    withheld: str = "",
) -> SubmissionView:
    """A submission; its own team and the organiser also see its agent's errors.

    Environments' errors go to the organiser alone: they may describe hidden tasks. `more` holds
    further details that the reader may see, by the index of the benchmark; scores that are
    `withheld` from the reader are in neither it nor `runs`.
    """
    phase = snapshot.definition.phase(submission.phase)
    names = benchmark_names(snapshot.definition, phase)
    is_owners = reader != "public"
    visible: tuple[str, ...] = (*SCORED, "playing") if is_owners else SCORED
    by_place = {run.index: run for run in runs if submission.status in visible}
    hears = _hears(snapshot, submission, reader)
    sees_detail = reader == "organiser" or (is_owners and submission.status != "broken")
    detail = submission.detail if hears else wording.without_words(submission.detail)
    leaderboard = None if withheld else snapshot.boards.get(submission.phase)
    row = (
        next((r for r in leaderboard.rows if r.submission.id == submission.id), None)
        if leaderboard
        else None
    )
    is_rate = leaderboard is None or leaderboard.is_rate
    ruling, voids = snapshot.rulings.get(submission.id), snapshot.voids.get(submission.phase, {})
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
        meaning=wording.MEANINGS[submission.status],
        detail=detail if sees_detail else "",
        image=submission.image or "",
        used=_used(snapshot, submission, reader),
        times=[(what, wording.minute(at)) for what, at in times if at],
        playing=playing(submission, snapshot) if submission.status in UNFINISHED else None,
        score=wording.total(row.score, is_rate=is_rate) if row else "",
        interval=wording.totals(row.interval95, is_rate=is_rate) if row else "",
        rank=_rank(row, leaderboard.rows) if row and leaderboard else "",
        broken=submission.broken,
        withheld=withheld,
        benchmarks=[
            _benchmark(
                name,
                by_place.get(place),
                more.get(place, More()),
                void=voids.get(place, ""),
                hears=hears,
            )
            for place, name in enumerate(names)
        ],
        ruling=_ruling(ruling),
        counts=_counts(snapshot, submission, row, is_owners=is_owners),
        may_choose=reader == "team" and _may_choose(snapshot, submission),
        may_cancel=reader == "organiser" and submission.status in UNFINISHED,
        may_withdraw=reader == "team"
        and submission.status in SCORED
        and (ruling is None or ruling.standing == "unranked"),
        may_rule=reader == "organiser" and submission.status in SCORED,
        may_play_again=reader == "organiser" and submission.status in REPLAYED,
    )


def _hears(snapshot: Snapshot, submission: Submission, reader: Reader) -> bool:
    """Whether a reader may know what a submission's agent says: its team, and the organiser.

    The team of an image that the organiser runs, as for what it prints.
    """
    if submission.image is None:
        return reader != "public"
    phase = snapshot.phase(submission.phase)
    is_revealed = phase is not None and phase.revealed_at is not None
    return may_read_log(
        snapshot.definition.phase(submission.phase), reader, is_revealed=is_revealed
    )


def _used(snapshot: Snapshot, submission: Submission, reader: Reader) -> str:
    """What the containers of an image have used, for its team and the organiser."""
    seconds, memory = submission.processor_s, submission.peak_memory_bytes
    if reader == "public" or seconds is None or memory is None:
        return ""
    return wording.used(seconds, memory, is_coarse=not _hears(snapshot, submission, reader))


def event_view(event: Event) -> EventView:
    """An event in one line, for the organiser."""
    facts = ", ".join(
        f"{name} {f'{each:z.4g}' if isinstance(each, float) else each}"
        for name, each in event.detail.items()
        if each not in ("", None)
    )
    run = "" if event.run is None else f"run {event.run}, "
    detail = (run + facts).removesuffix(", ")
    return EventView(
        at=wording.second(event.at),
        kind=event.kind,
        team=event.team or "",
        submission=event.submission or "",
        detail=detail if len(detail) <= _MOST_DETAIL else f"{detail[: _MOST_DETAIL - 1]}…",
    )


def appeal_view(appeal: Appeal) -> AppealView:
    """An appeal, for its team and the organiser."""
    return AppealView(
        id=appeal.id,
        at=wording.minute(appeal.at),
        team=appeal.team,
        submission=appeal.submission,
        text=appeal.text,
        answer=appeal.answer,
        answered=wording.minute(appeal.answered_at),
    )


def health(snapshot: Snapshot, store: Store, folder: Path) -> Sequence[tuple[str, str]]:
    """The server's health for the organiser: names and values. Raises StoreFailed."""
    submissions, now = snapshot.submissions.values(), datetime.now(UTC)
    statuses = [each.status for each in submissions]
    waits_s = [(now - s.queued_at).total_seconds() for s in submissions if s.status == "waiting"]
    places = snapshot.definition.play.places
    backup = store.newest_event(BACKED_UP)
    since = "never" if backup is None else f"{span((now - backup).total_seconds())} ago"
    free = shutil.disk_usage(folder).free / 2**30
    left_out = [
        f"{snapshot.submissions[each].team}, {each}: {why}"
        for board in snapshot.boards.values()
        for each, why in board.left_out.items()
        if each in snapshot.submissions
    ]
    return [
        *(("left out of a leaderboard", each) for each in left_out),
        ("database", "does not answer" if snapshot.is_away else "answers"),
        ("playing", f"{statuses.count('playing')} of {plural(places, 'place')}"),
        ("waiting", count(len(waits_s))),
        ("longest wait", span(max(waits_s)) if waits_s else "nobody waits"),
        ("broken", count(statuses.count("broken"))),
        ("interrupted, 24 h", count(store.count_events("submission interrupted", now - _DAY))),
        ("free on the disk", f"{free:,.1f} GiB"),
        ("last backup", since),
    ]


def _place(
    row: Row, rows: Sequence[Row], leaderboard: Leaderboard, scale: tuple[float, float]
) -> Place:
    runs = [(row.runs[place], leaderboard.measures[place]) for place in leaderboard.places]
    faults = sum(sum(run.faults.values()) for run, _ in runs)
    return Place(
        rank="–" if row.rank is None else str(row.rank),
        is_shared=_is_shared(row, rows),
        team=row.team,
        submission=row.submission.id,
        score=wording.total(row.score, is_rate=leaderboard.is_rate),
        interval=wording.totals(row.interval95, is_rate=leaderboard.is_rate),
        bar=bar(row.score, row.interval95, scale),
        scores=[wording.amount(run.score, measure) for run, measure in runs],
        faults=count(faults) if faults else "",
        broken=row.submission.broken,
        has_failed=row.submission.status == "failed",
        ruling=_ruling(row.ruling),
        is_struck=row.is_struck,
    )


def _ruling(ruling: Ruling | None) -> RulingView | None:
    if ruling is None:
        return None
    return RulingView(
        standing=ruling.standing,
        why=ruling.why,
        by="its team" if ruling.by_team else "the organiser",
        at=wording.minute(ruling.at),
    )


def _rank(row: Row, rows: Sequence[Row]) -> str:
    if row.rank is None:
        return "–"
    return f"{row.rank}, shared" if _is_shared(row, rows) else str(row.rank)


def _counts(snapshot: Snapshot, submission: Submission, row: Row | None, *, is_owners: bool) -> str:
    """Why it counts for its team, where teams choose; empty: it does not.

    Its team and the organiser see the newest choice, also while the leaderboard is frozen.
    """
    if snapshot.definition.ranking.choose != "team":
        return ""
    choice = snapshot.choices.get(submission.phase, {}).get(submission.team)
    if is_owners and choice is not None and choice not in snapshot.rulings:
        return HOW_CHOSEN["team"] if choice == submission.id else ""
    return HOW_CHOSEN[row.chosen_by] if row and row.chosen_by else ""


def _may_choose(snapshot: Snapshot, submission: Submission) -> bool:
    """Whether its team may choose it now."""
    phase = snapshot.phase(submission.phase)
    return (
        snapshot.definition.ranking.choose == "team"
        and submission.status in SCORED
        and submission.id not in snapshot.rulings
        and snapshot.choices.get(submission.phase, {}).get(submission.team) != submission.id
        and phase is not None
        and phase.state == "open"
    )


def _is_shared(row: Row, rows: Sequence[Row]) -> bool:
    return row.rank is not None and sum(each.rank == row.rank for each in rows) > 1


def _verdict(ranked: Sequence[Row], ranking: Ranking) -> str:
    first = [row.team for row in ranked if row.rank == 1]
    if len(ranked) < 2:
        return ""
    if ranking.total == "mean rank":
        return f"{first[0]} has the lowest mean rank."
    if ranking.ties == "score":
        return f"{first[0]} has the highest score."
    if len(first) == 1:
        return f"{first[0]} is ahead of all others."
    if len(first) == len(ranked):
        return "So far no two teams can be told apart."
    if len(first) > 3:
        return f"{len(first)} teams share the first rank: they cannot be told apart."
    return f"{listed(first)} share the first rank."


def _benchmark(name: str, run: Run | None, more: More, *, void: str, hears: bool) -> BenchmarkView:
    if run is None or not run.result:
        return BenchmarkView(name, "", "–", "", None, ())
    try:
        result = result_of_run(run)
    except UsageError:
        return BenchmarkView(name, "", "–", "", None, [("result that cannot be read", "1")])
    score, interval = result.score.value, result.interval95
    measure = result.measure
    counts = {status: n for status, n in result.status_counts.items() if status != "ok" and n}
    details = [
        (wording.fault(each.status), each.detail, count(each.count))
        for each in result.faults
        if is_agents_fault(each.status)
    ]
    return BenchmarkView(
        name=name,
        status=f"{measure.name}, void: {void}" if void else measure.name,
        score=wording.amount(score, measure),
        interval=wording.amounts(interval, measure),
        bar=bar(score, interval, (0.0, 1.0)) if measure.is_rate else None,
        faults=[*wording.faults(counts), *wording.tries(result.episodes_retried)],
        details=details if hears else (),
        more=more,
        transcript_sha256=run.transcript_sha256 or "",
    )


def _number(value: object) -> int:
    return max(0, int(value)) if isinstance(value, int | float) else 0
