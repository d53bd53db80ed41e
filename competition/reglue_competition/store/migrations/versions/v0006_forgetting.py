"""Events name teams by their ids, and what people wrote about a team lies beside them."""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"

_WRITTEN = ("name", "text", "why", "detail")  # keys of the detail of an event about a team


def upgrade() -> None:
    """Move names and texts out of the events, whose triggers are away meanwhile."""
    dialect = op.get_context().dialect.name
    for words in _DROPPED[dialect]:
        op.execute(words)
    with op.batch_alter_table("event") as batch:
        batch.add_column(sa.Column("team_id", sa.Integer()))
        batch.create_foreign_key(op.f("fk_event_team_id"), "team", ["team_id"], ["id"])
    op.execute("UPDATE event SET team_id = (SELECT id FROM team WHERE name = event.team)")
    texts = _take_texts()
    with op.batch_alter_table("event") as batch:
        batch.drop_column("team")
    made = op.create_table(  # only now: SQLite makes `event` anew, to which it refers
        "event_text",
        sa.Column("event_id", sa.Integer(), nullable=False),
        sa.Column("texts", sa.JSON(), nullable=False),
        sa.ForeignKeyConstraint(["event_id"], ["event.id"], name=op.f("fk_event_text_event_id")),
        sa.PrimaryKeyConstraint("event_id", name=op.f("pk_event_text")),
    )
    op.bulk_insert(made, texts)
    for words in _TRIGGERS[dialect]:
        op.execute(words)


def _take_texts() -> list[dict[str, Any]]:
    """The rows of `event_text`; the events are without them then."""
    connection, tables = op.get_bind(), sa.MetaData()
    tables.reflect(connection, only=["event"])
    events, texts = tables.tables["event"], []
    of_teams = sa.select(events.c.id, events.c.detail).where(events.c.team_id.is_not(None))
    for key, detail in connection.execute(of_teams).all():
        written = {name: detail.pop(name) for name in _WRITTEN if name in detail}
        if written:
            change = sa.update(events).where(events.c.id == key)
            connection.execute(change.values(detail=detail))
            texts.append({"event_id": key, "texts": written})
    return texts


_REFUSE = "SELECT RAISE(ABORT, 'events are only appended')"

_DROPPED = {
    "sqlite": [f"DROP TRIGGER event_{each}" for each in ("update", "delete", "replace")],
    "postgresql": ["DROP TRIGGER event_change ON event"],
}
_TRIGGERS = {
    "sqlite": (
        f"CREATE TRIGGER event_update BEFORE UPDATE ON event BEGIN {_REFUSE}; END",
        f"CREATE TRIGGER event_delete BEFORE DELETE ON event BEGIN {_REFUSE}; END",
        # INSERT OR REPLACE deletes without asking the trigger above.
        "CREATE TRIGGER event_replace BEFORE INSERT ON event "
        f"WHEN EXISTS (SELECT 1 FROM event WHERE id = NEW.id) BEGIN {_REFUSE}; END",
        f"CREATE TRIGGER event_text_update BEFORE UPDATE ON event_text BEGIN {_REFUSE}; END",
        "CREATE TRIGGER event_text_replace BEFORE INSERT ON event_text WHEN EXISTS "
        f"(SELECT 1 FROM event_text WHERE event_id = NEW.event_id) BEGIN {_REFUSE}; END",
    ),
    "postgresql": (
        "CREATE TRIGGER event_change BEFORE UPDATE OR DELETE OR TRUNCATE ON event "
        "FOR EACH STATEMENT EXECUTE FUNCTION event_refuse()",
        "CREATE TRIGGER event_text_change BEFORE UPDATE ON event_text "
        "FOR EACH STATEMENT EXECUTE FUNCTION event_refuse()",
    ),
}
