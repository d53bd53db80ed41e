"""The tables of a competition's database. Dates are UTC."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import sqlalchemy as sa

from reglue_competition.store.records import STATUSES, UNFINISHED


class Utc(sa.TypeDecorator[datetime]):
    """An aware date, in UTC; SQLite keeps none."""

    impl = sa.DateTime(timezone=True)
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: sa.Dialect) -> datetime | None:
        """Into the database: an aware date of any zone."""
        return None if value is None else value.astimezone(UTC)

    def process_result_value(self, value: Any, dialect: sa.Dialect) -> datetime | None:
        """Out of it."""
        if value is None:
            return None
        date: datetime = value.replace(tzinfo=value.tzinfo or UTC)
        return date.astimezone(UTC)


def _one_of(column: str, values: tuple[str, ...]) -> sa.CheckConstraint:
    listed = ", ".join(f"'{value}'" for value in values)
    return sa.CheckConstraint(f"{column} IN ({listed})", name=column)


TABLES = sa.MetaData(
    naming_convention={
        "pk": "pk_%(table_name)s",
        "fk": "fk_%(table_name)s_%(column_0_name)s",
        "uq": "uq_%(table_name)s_%(column_0_name)s",
        "ix": "ix_%(table_name)s_%(column_0_name)s",
        "ck": "ck_%(table_name)s_%(constraint_name)s",
    }
)
competition = sa.Table(  # one row
    "competition",
    TABLES,
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("definition", sa.Text, nullable=False),  # JSON of the file that is in force
    sa.Column("applied_at", Utc, nullable=False),
    sa.CheckConstraint("id = 1", name="one"),
)
phases = sa.Table(
    "phase",
    TABLES,
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("name", sa.Text, nullable=False, unique=True),
    sa.Column("kind", sa.Text, nullable=False),
    sa.Column("opens_at", Utc, nullable=False),
    sa.Column("closes_at", Utc, nullable=False),
    sa.Column("state", sa.Text, nullable=False),
    sa.Column("plan_commitment", sa.Text),
    sa.Column("open_asked", sa.Boolean, nullable=False),
    sa.Column("closed_at", Utc),
    sa.Column("revealed_at", Utc),
    sa.Column("cells", sa.Text, nullable=False),
    sa.Column("agents", sa.Text, nullable=False, server_default="remote"),
    # A team's quotas; none: no limit.
    sa.Column("a_day", sa.Integer),
    sa.Column("at_once", sa.Integer),
    sa.Column("in_all", sa.Integer),
    _one_of("kind", ("practice", "public", "private")),
    _one_of("state", ("planned", "open", "closed")),
    _one_of("cells", ("shared", "own")),
)


def _only(name: str, *columns: sa.Column[Any], where: sa.ColumnElement[bool]) -> None:
    """An index that allows at most one row for which `where` holds."""
    sa.Index(name, *columns, unique=True, sqlite_where=where, postgresql_where=where)


_is_open, _is_practice = phases.c.state == "open", phases.c.kind == "practice"
_only("ix_phase_open", phases.c.state, where=sa.and_(_is_open, sa.not_(_is_practice)))
_only("ix_phase_open_practice", phases.c.state, where=sa.and_(_is_open, _is_practice))
teams = sa.Table(
    "team",
    TABLES,
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("name", sa.Text, nullable=False, unique=True),
    sa.Column("created_at", Utc, nullable=False),
    sa.Column("retired_at", Utc),
)
tokens = sa.Table(
    "token",
    TABLES,
    sa.Column("id", sa.Text, primary_key=True),
    sa.Column("team_id", sa.ForeignKey("team.id"), index=True),  # none: the organiser's
    sa.Column("phase", sa.Text),  # by name: it enters no other; none: whichever is open
    sa.Column("sha256", sa.Text, nullable=False, unique=True),  # the token itself is nowhere
    sa.Column("created_at", Utc, nullable=False),
    sa.Column("expires_at", Utc),
    sa.Column("revoked_at", Utc),
)
submissions = sa.Table(
    "submission",
    TABLES,
    sa.Column("id", sa.Text, primary_key=True),
    sa.Column("team_id", sa.ForeignKey("team.id"), nullable=False, index=True),
    sa.Column("phase_id", sa.ForeignKey("phase.id"), nullable=False, index=True),
    sa.Column("name", sa.Text, nullable=False),
    sa.Column("status", sa.Text, nullable=False, index=True),
    sa.Column("detail", sa.Text, nullable=False),
    sa.Column("queued_at", Utc, nullable=False),
    sa.Column("waits_since", Utc),  # or waited last; always set
    sa.Column("started_at", Utc),
    sa.Column("ended_at", Utc),
    sa.Column("cancel_asked", sa.Boolean, nullable=False),
    sa.Column("draw", sa.Integer, nullable=False),  # of goals and cells; 0: the phase's
    sa.Column("interrupted", sa.Integer, nullable=False, server_default="0"),
    sa.Column("progress", sa.JSON, nullable=False),
    sa.Column("image", sa.Text),  # its digest; none: its agent connects by itself
    # Used by its containers; none: not measured.
    sa.Column("processor_s", sa.Double),
    sa.Column("peak_memory_bytes", sa.BigInteger),
    _one_of("status", STATUSES),
)
_only(
    "ix_submission_unfinished",
    submissions.c.team_id,
    submissions.c.name,
    where=submissions.c.status.in_(UNFINISHED),
)
runs = sa.Table(
    "run",
    TABLES,
    sa.Column("submission_id", sa.ForeignKey("submission.id"), primary_key=True),
    sa.Column("index", sa.Integer, primary_key=True),  # of the benchmark in its phase
    sa.Column("benchmark", sa.Text, nullable=False),
    sa.Column("status", sa.Text, nullable=False),
    sa.Column("owner", sa.Text, nullable=False),
    sa.Column("score", sa.Double),
    sa.Column("low", sa.Double),
    sa.Column("high", sa.Double),
    sa.Column("result", sa.Text, nullable=False),  # result.json
    sa.Column("transcript_sha256", sa.Text),
)
events = sa.Table(  # triggers refuse to change or delete a row
    "event",
    TABLES,
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("at", Utc, nullable=False),
    sa.Column("kind", sa.Text, nullable=False, index=True),
    sa.Column("team_id", sa.ForeignKey("team.id")),
    sa.Column("submission", sa.Text),
    sa.Column("run", sa.Integer),
    sa.Column("detail", sa.JSON, nullable=False),
    sa.Column("operation", sa.Text, nullable=False),  # of the transaction that wrote it
)
event_texts = sa.Table(  # a trigger refuses to change a row; those of a forgotten team are deleted
    "event_text",
    TABLES,
    sa.Column("event_id", sa.ForeignKey("event.id"), primary_key=True),
    sa.Column("texts", sa.JSON, nullable=False),  # the rest of the event's detail
)
