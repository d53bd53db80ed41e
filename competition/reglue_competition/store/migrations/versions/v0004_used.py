"""Columns for the processor time and memory that the container of an agent used."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"


def upgrade() -> None:
    """Add columns. Nobody measured it before."""
    op.add_column("submission", sa.Column("processor_s", sa.Double()))
    op.add_column("submission", sa.Column("peak_memory_bytes", sa.BigInteger()))
