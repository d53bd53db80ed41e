"""Alembic's entry point: it runs migrations over the connection that it is given."""

from __future__ import annotations

from alembic import context

from reglue_competition.store.schema import TABLES

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=TABLES,
    render_as_batch=True,  # SQLite cannot alter a column otherwise
)
with context.begin_transaction():
    context.run_migrations()
