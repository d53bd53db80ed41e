"""The log of events, which only grows."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from types import MappingProxyType
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

    def now(self) -> datetime:
        """The time by which it dates what happens, UTC."""
        return self._database.now()

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
        texts: Mapping[str, str] = MappingProxyType({}),
        **detail: Any,
    ) -> None:
        """Add an event, as `Transaction.note` does. Raises UnknownName."""
        self._database.write(
            lambda transaction: transaction.note(
                kind, team=team, submission=submission, run=run, texts=texts, **detail
            )
        )

    def events(self, after: int = 0, limit: int = 100, *, team: str | None = None) -> list[Event]:
        """The first `limit` events with ids above `after`, of all teams or one.

        Ids grow in the order of commits: a reader that goes on from the last one misses none.
        """
        query = _EVENTS.where(schema.events.c.id > after)
        if team is not None:
            query = query.where(schema.teams.c.name == team)
        query = query.order_by(schema.events.c.id).limit(limit)
        return [_event(row) for row in self._rows(query)]

    def newest_events(self, limit: int) -> list[Event]:
        """The last `limit` events, the newest first."""
        query = _EVENTS.order_by(schema.events.c.id.desc()).limit(limit)
        return [_event(row) for row in self._rows(query)]

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
        every = self._database.read(lambda to: events_in(to, *kinds))
        return [each for each in every if each.detail.get("phase") == phase]

    def _rows(self, query: sa.Select[Any]) -> list[sa.RowMapping]:
        return self._database.read(lambda to: list(to.execute(query).mappings()))


def events_in(
    connection: sa.Connection, *kinds: str, team: str | None = None, submission: str | None = None
) -> list[Event]:
    """The events of these kinds, of all or of one team or submission, in their order."""
    columns = schema.events.c
    query = _EVENTS.where(columns.kind.in_(kinds))
    if team is not None:
        query = query.where(schema.teams.c.name == team)
    if submission is not None:
        query = query.where(columns.submission == submission)
    return [_event(row) for row in connection.execute(query.order_by(columns.id)).mappings()]


_EVENTS = (
    sa.select(
        *(each for each in schema.events.c if each.name not in ("team_id", "operation")),
        schema.teams.c.name.label("team"),
        schema.event_texts.c.texts,
    )
    .outerjoin_from(schema.events, schema.teams)
    .outerjoin(schema.event_texts, schema.event_texts.c.event_id == schema.events.c.id)
)


def _event(row: sa.RowMapping) -> Event:
    values = {name: row[name] for name in Event.__dataclass_fields__}
    return Event(**values | {"detail": {**row["detail"], **(row["texts"] or {})}})
