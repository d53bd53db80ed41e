"""The log of events, which only grows."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any, Self

import sqlalchemy as sa

from reglue_competition.store import schema
from reglue_competition.store.database import PATIENCE_S, Database
from reglue_competition.store.migrate import check_current
from reglue_competition.store.records import Event


class Events:
    """An open database, and its log."""

    def __init__(
        self,
        url: str,
        *,
        patience_s: float = PATIENCE_S,
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        """Open it. Raises UsageError if its tables are not those of this Reglue."""
        self._database = Database(url, patience_s=patience_s, clock=clock)
        try:
            self._database.read(check_current)
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the database's connections."""
        self._database.close()

    def note(
        self,
        kind: str,
        *,
        team: str | None = None,
        submission: str | None = None,
        run: int | None = None,
        **detail: Any,
    ) -> None:
        """Add an event; `detail` is JSON."""
        self._database.write(
            lambda transaction: transaction.note(
                kind, team=team, submission=submission, run=run, **detail
            )
        )

    def events(self, after: int = 0, limit: int = 100, *, team: str | None = None) -> list[Event]:
        """The first `limit` events with ids above `after`, of all teams or one.

        Ids grow in the order of commits: a reader that goes on from the last one misses none.
        """
        query = sa.select(schema.events).where(schema.events.c.id > after)
        if team is not None:
            query = query.where(schema.events.c.team == team)
        rows = self._rows(query.order_by(schema.events.c.id).limit(limit))
        names = Event.__dataclass_fields__
        return [Event(**{name: row[name] for name in names}) for row in rows]

    def newest_event(self, kind: str) -> datetime | None:
        """The date of the newest event of that kind; None if there is none."""
        columns = schema.events.c
        newest = (
            sa.select(columns.at).where(columns.kind == kind).order_by(columns.id.desc()).limit(1)
        )
        return self._database.read(lambda to: to.scalar(newest))

    def count_events(self, kind: str, since: datetime) -> int:
        """The number of events of a kind since then."""
        columns = schema.events.c
        counted = sa.select(sa.func.count()).where(columns.kind == kind, columns.at > since)
        return self._database.read(lambda to: to.scalar(counted)) or 0

    def events_of(self, *kinds: str, phase: str) -> list[Event]:
        """The events of these kinds about a phase, in their order."""
        columns = schema.events.c
        query = sa.select(schema.events).where(columns.kind.in_(kinds)).order_by(columns.id)
        names = Event.__dataclass_fields__
        every = [Event(**{name: row[name] for name in names}) for row in self._rows(query)]
        return [each for each in every if each.detail.get("phase") == phase]

    def _rows(self, query: sa.Select[Any]) -> list[sa.RowMapping]:
        return self._database.read(lambda to: list(to.execute(query).mappings()))
