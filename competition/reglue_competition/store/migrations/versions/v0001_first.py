"""The first tables, and the triggers that keep events as they were written."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None


def upgrade() -> None:
    """Make them."""
    op.create_table(
        "competition",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("definition", sa.Text(), nullable=False),
        sa.Column("applied_at", sa.DateTime(timezone=True), nullable=False),
        sa.CheckConstraint("id = 1", name=op.f("ck_competition_one")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_competition")),
    )
    op.create_table(
        "event",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("team", sa.Text()),
        sa.Column("submission", sa.Text()),
        sa.Column("run", sa.Integer()),
        sa.Column("detail", sa.JSON(), nullable=False),
        sa.Column("operation", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_event")),
    )
    op.create_table(
        "phase",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("opens_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("closes_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("plan_commitment", sa.Text()),
        sa.Column("open_asked", sa.Boolean(), nullable=False),
        sa.Column("revealed_at", sa.DateTime(timezone=True)),
        sa.Column("cells", sa.Text(), nullable=False),
        sa.Column("a_day", sa.Integer()),
        sa.Column("at_once", sa.Integer()),
        sa.Column("in_all", sa.Integer()),
        sa.CheckConstraint("kind IN ('practice', 'public', 'private')", name=op.f("ck_phase_kind")),
        sa.CheckConstraint("state IN ('planned', 'open', 'closed')", name=op.f("ck_phase_state")),
        sa.CheckConstraint("cells IN ('shared', 'own')", name=op.f("ck_phase_cells")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_phase")),
        sa.UniqueConstraint("name", name=op.f("uq_phase_name")),
    )
    op.create_index(
        "ix_phase_open",
        "phase",
        ["state"],
        unique=True,
        sqlite_where=sa.text("state = 'open'"),
        postgresql_where=sa.text("state = 'open'"),
    )
    op.create_table(
        "team",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("retired_at", sa.DateTime(timezone=True)),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_team")),
        sa.UniqueConstraint("name", name=op.f("uq_team_name")),
    )
    op.create_table(
        "submission",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("team_id", sa.Integer(), nullable=False),
        sa.Column("phase_id", sa.Integer(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("status", sa.Text(), nullable=False),
        sa.Column("detail", sa.Text(), nullable=False),
        sa.Column("queued_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("started_at", sa.DateTime(timezone=True)),
        sa.Column("ended_at", sa.DateTime(timezone=True)),
        sa.Column("cancel_asked", sa.Boolean(), nullable=False),
        sa.Column("draw", sa.Integer(), nullable=False),
        sa.Column("progress", sa.JSON(), nullable=False),
        sa.CheckConstraint(
            "status IN ('waiting', 'playing', 'finished', 'failed', 'broken', 'cancelled', "
            "'withdrawn')",
            name=op.f("ck_submission_status"),
        ),
        sa.ForeignKeyConstraint(["phase_id"], ["phase.id"], name=op.f("fk_submission_phase_id")),
        sa.ForeignKeyConstraint(["team_id"], ["team.id"], name=op.f("fk_submission_team_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_submission")),
    )
    op.create_index(op.f("ix_submission_phase_id"), "submission", ["phase_id"], unique=False)
    op.create_index(op.f("ix_submission_status"), "submission", ["status"], unique=False)
    op.create_index(op.f("ix_submission_team_id"), "submission", ["team_id"], unique=False)
    op.create_index(
        "ix_submission_unfinished",
        "submission",
        ["team_id", "name"],
        unique=True,
        sqlite_where=sa.text("status IN ('waiting', 'playing')"),
        postgresql_where=sa.text("status IN ('waiting', 'playing')"),
    )
    op.create_table(
        "token",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("team_id", sa.Integer()),
        sa.Column("sha256", sa.Text(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("expires_at", sa.DateTime(timezone=True)),
        sa.Column("revoked_at", sa.DateTime(timezone=True)),
        sa.ForeignKeyConstraint(["team_id"], ["team.id"], name=op.f("fk_token_team_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_token")),
        sa.UniqueConstraint("sha256", name=op.f("uq_token_sha256")),
    )
    op.create_index(op.f("ix_token_team_id"), "token", ["team_id"], unique=False)
    op.create_table(
        "run",
        sa.Column("submission_id", sa.Text(), nullable=False),
        sa.Column("index", sa.Integer(), nullable=False),
        sa.Column("benchmark", sa.Text(), nullable=False),
        sa.Column("status", sa.Text(), nullable=False),
        sa.Column("owner", sa.Text(), nullable=False),
        sa.Column("score", sa.Double()),
        sa.Column("low", sa.Double()),
        sa.Column("high", sa.Double()),
        sa.Column("result", sa.Text(), nullable=False),
        sa.Column("transcript_sha256", sa.Text()),
        sa.ForeignKeyConstraint(
            ["submission_id"], ["submission.id"], name=op.f("fk_run_submission_id")
        ),
        sa.PrimaryKeyConstraint("submission_id", "index", name=op.f("pk_run")),
    )
    for words in _TRIGGERS[op.get_context().dialect.name]:
        op.execute(words)


_REFUSE = "SELECT RAISE(ABORT, 'events are only appended')"

_TRIGGERS = {
    "sqlite": (
        f"CREATE TRIGGER event_update BEFORE UPDATE ON event BEGIN {_REFUSE}; END",
        f"CREATE TRIGGER event_delete BEFORE DELETE ON event BEGIN {_REFUSE}; END",
        # INSERT OR REPLACE deletes without asking the trigger above.
        "CREATE TRIGGER event_replace BEFORE INSERT ON event "
        f"WHEN EXISTS (SELECT 1 FROM event WHERE id = NEW.id) BEGIN {_REFUSE}; END",
    ),
    "postgresql": (
        "CREATE FUNCTION event_refuse() RETURNS trigger LANGUAGE plpgsql AS "
        "$$ BEGIN RAISE EXCEPTION 'events are only appended'; END $$",
        "CREATE TRIGGER event_change BEFORE UPDATE OR DELETE OR TRUNCATE ON event "
        "FOR EACH STATEMENT EXECUTE FUNCTION event_refuse()",
    ),
}
