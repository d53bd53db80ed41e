"""Whether all is well, for the organiser."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

from reglue_bench.formatting import count, plural, span
from reglue_competition.backup import BACKED_UP
from reglue_competition.page.site import Snapshot
from reglue_competition.store import Store

_DAY = timedelta(days=1)


def health(snapshot: Snapshot, store: Store, folder: Path) -> Sequence[tuple[str, str]]:
    """What there is to know, and how it stands. Raises StoreFailed."""
    submissions, now = snapshot.submissions.values(), datetime.now(UTC)
    statuses = [each.status for each in submissions]
    waits_s = [(now - s.queued_at).total_seconds() for s in submissions if s.status == "waiting"]
    places = snapshot.definition.play.places
    backup = store.newest_event(BACKED_UP)
    since = "never" if backup is None else f"{span((now - backup).total_seconds())} ago"
    free = shutil.disk_usage(folder).free / 2**30
    return [
        ("database", "does not answer" if snapshot.is_away else "answers"),
        ("playing", f"{statuses.count('playing')} of {plural(places, 'place')}"),
        ("waiting", count(len(waits_s))),
        ("longest wait", span(max(waits_s)) if waits_s else "nobody waits"),
        ("broken", count(statuses.count("broken"))),
        ("interrupted, 24 h", count(store.count_events("submission interrupted", now - _DAY))),
        ("free on the disk", f"{free:,.1f} GiB"),
        ("last backup", since),
    ]
