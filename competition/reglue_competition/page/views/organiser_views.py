"""Views for the organiser: events, appeals and the server's health; a team sees its appeals."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

from reglue_bench.formatting import count, plural, span
from reglue_competition.backup import BACKED_UP
from reglue_competition.page.site import Snapshot
from reglue_competition.page.views import wording
from reglue_competition.page.views.view_models import AppealView, EventView
from reglue_competition.store import Appeal, Event, Store

_MOST_DETAIL = 300  # characters of an event's

_DAY = timedelta(days=1)


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
