"""Views of a submission: what anybody may see, and what its team may."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from reglue.errors import UsageError
from reglue_bench.formatting import count
from reglue_bench.results.scoring import is_agents_fault
from reglue_competition.page.site import Snapshot
from reglue_competition.page.views import wording
from reglue_competition.page.views.agent_log import may_read_log
from reglue_competition.page.views.charts import bar
from reglue_competition.page.views.snapshot_views import (
    benchmark_names,
    is_shared,
    playing,
    ruling_view,
)
from reglue_competition.page.views.view_models import BenchmarkView, More, SubmissionView
from reglue_competition.page.views.visibility import Reader
from reglue_competition.ranking import HOW_CHOSEN, Row, result_of_run
from reglue_competition.store import REPLAYED, SCORED, UNFINISHED, Run, Submission


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
        ruling=ruling_view(ruling),
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
    """The resources that an image's containers used, for its team and the organiser."""
    seconds, memory = submission.processor_s, submission.peak_memory_bytes
    if reader == "public" or seconds is None or memory is None:
        return ""
    return wording.used(seconds, memory, is_coarse=not _hears(snapshot, submission, reader))


def _rank(row: Row, rows: Sequence[Row]) -> str:
    if row.rank is None:
        return "–"
    return f"{row.rank}, shared" if is_shared(row, rows) else str(row.rank)


def _counts(snapshot: Snapshot, submission: Submission, row: Row | None, *, is_owners: bool) -> str:
    """The reason why it counts for its team, where teams choose; empty: it does not.

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
