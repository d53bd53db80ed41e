"""Columns for a submission's interruptions and wait, and for the end of a phase."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"

_CLOSED = """
UPDATE phase SET closed_at = coalesce(
    (SELECT max(event.at) FROM event
     WHERE event.kind = 'phase closed' AND {name} = phase.name),
    closes_at)
WHERE state = 'closed'
"""

_NAME = {
    "sqlite": "json_extract(event.detail, '$.phase')",
    "postgresql": "event.detail ->> 'phase'",
}


def upgrade() -> None:
    """Add the columns. What waits has waited since it was entered, as far as anybody knows."""
    at = sa.DateTime(timezone=True)
    op.add_column("phase", sa.Column("closed_at", at))
    op.execute(_CLOSED.format(name=_NAME[op.get_context().dialect.name]))
    op.add_column("submission", sa.Column("waits_since", at))
    op.execute("UPDATE submission SET waits_since = queued_at")
    interrupted = sa.Column("interrupted", sa.Integer(), nullable=False, server_default="0")
    op.add_column("submission", interrupted)
