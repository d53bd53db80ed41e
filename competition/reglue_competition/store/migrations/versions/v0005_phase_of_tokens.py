"""Tokens that enter one phase alone, and a practice phase that is open beside another."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"


def upgrade() -> None:
    """Add the column, and let one phase of practice and one other be open. Tokens enter any."""
    op.add_column("token", sa.Column("phase", sa.Text()))
    op.drop_index("ix_phase_open", "phase")
    for name, kind in (
        ("ix_phase_open", "kind != 'practice'"),
        ("ix_phase_open_practice", "kind = 'practice'"),
    ):
        where = sa.text(f"state = 'open' AND {kind}")
        op.create_index(
            name, "phase", ["state"], unique=True, sqlite_where=where, postgresql_where=where
        )
