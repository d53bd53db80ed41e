"""Views of a snapshot: its phases and leaderboards, and what plays now.

Before a phase is revealed, a public view holds nothing but scores that depends on its secret: no
goals, no details of faults, plans' digests, seeds, versions or parameters; and no hidden tasks,
see `visibility`.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from datetime import UTC, datetime

from reglue_bench.formatting import count, listed, number
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
from reglue_competition.page.views.charts import bar, scale
from reglue_competition.page.views.view_models import Board, PhaseView, Place, Playing, RulingView
from reglue_competition.ranking import Leaderboard, Row, rule
from reglue_competition.store import Phase, Ruling, Submission

MOST_WAITING = 10
"""Submissions in the queue that a leaderboard names."""

_OF_A_FILE = re.compile(r"[/\\]|\.py|\.toml|:.*:")


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
    """A benchmark's weight relative to the `total` of all, in words; empty if it is the total."""
    if void is not None:
        return f", void: {void}"
    share = "" if is_alone else f", {100 * entry.weight / total:.3g} % of the {of}"
    if entry.scale is None:
        return share
    return f"{share}, where {number(entry.scale[0])} is 0 and {number(entry.scale[1])} is 1"


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


def _place(
    row: Row, rows: Sequence[Row], leaderboard: Leaderboard, scale: tuple[float, float]
) -> Place:
    runs = [(row.runs[place], leaderboard.measures[place]) for place in leaderboard.places]
    faults = sum(sum(run.faults.values()) for run, _ in runs)
    return Place(
        rank="–" if row.rank is None else str(row.rank),
        is_shared=is_shared(row, rows),
        team=row.team,
        submission=row.submission.id,
        score=wording.total(row.score, is_rate=leaderboard.is_rate),
        interval=wording.totals(row.interval95, is_rate=leaderboard.is_rate),
        bar=bar(row.score, row.interval95, scale),
        scores=[wording.amount(run.score, measure) for run, measure in runs],
        faults=count(faults) if faults else "",
        broken=row.submission.broken,
        has_failed=row.submission.status == "failed",
        ruling=ruling_view(row.ruling),
        is_struck=row.is_struck,
    )


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


def ruling_view(ruling: Ruling | None) -> RulingView | None:
    """A ruling that stands; None if there is none."""
    if ruling is None:
        return None
    return RulingView(
        standing=ruling.standing,
        why=ruling.why,
        by="its team" if ruling.by_team else "the organiser",
        at=wording.minute(ruling.at),
    )


def is_shared(row: Row, rows: Sequence[Row]) -> bool:
    """Whether another row of the leaderboard has the same rank."""
    return row.rank is not None and sum(each.rank == row.rank for each in rows) > 1


def _number(value: object) -> int:
    return max(0, int(value)) if isinstance(value, int | float) else 0
