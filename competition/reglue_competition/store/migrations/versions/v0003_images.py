"""Columns for the party that runs a phase's agents and for an image, and an index of events."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    """Add columns and index. Until now, agents connected by themselves."""
    agents = sa.Column("agents", sa.Text(), nullable=False, server_default="remote")
    op.add_column("phase", agents)
    op.add_column("submission", sa.Column("image", sa.Text()))
    op.create_index("ix_event_kind", "event", ["kind"])
