"""Makes a competition's database, and brings an older one up to date."""

from __future__ import annotations

from pathlib import Path

import sqlalchemy as sa

from reglue.errors import UsageError
from reglue_competition.store.database import Database, Transaction

_FOLDER = Path(__file__).parent / "migrations"


def migrate(url: str) -> None:
    """Make the database's tables, or those that a newer Reglue has added.

    A missing SQLite file is made. All or nothing is done. Raises UsageError (also for
    a database of a newer Reglue) and StoreFailed.
    """
    database = Database(url, creates=True)
    try:
        database.write(_upgrade)
    finally:
        database.close()


def head() -> str:
    """The revision of this Reglue's tables."""
    return max(_revisions())


def check_current(connection: sa.Connection) -> None:
    """Raise UsageError unless the tables are those of this Reglue."""
    got, wanted = _revision(connection), head()
    if got == wanted:
        return
    _check_known(got)
    raise UsageError(
        f"the competition's database is of revision {got or 'none'}, wanted {wanted}; "
        "`reglue competition migrate FOLDER` brings it up to date"
    )


def _upgrade(transaction: Transaction) -> None:
    # Alembic takes as long to import as SQLAlchemy, and only a migration needs it.
    from alembic import command
    from alembic.config import Config

    _check_known(_revision(transaction.connection))
    config = Config()
    config.set_main_option("script_location", str(_FOLDER).replace("%", "%%"))
    config.attributes["connection"] = transaction.connection
    command.upgrade(config, "head")


def _check_known(revision: str | None) -> None:
    if revision is not None and revision not in _revisions():
        raise UsageError(
            f"the competition's database is of revision {revision}, which this Reglue does not "
            "know: it was made by a newer one; install that"
        )


def _revision(connection: sa.Connection) -> str | None:
    """The revision in Alembic's table; None for a database without tables."""
    if not sa.inspect(connection).has_table("alembic_version"):
        return None
    revision: str | None = connection.scalar(sa.text("SELECT version_num FROM alembic_version"))
    return revision


def _revisions() -> set[str]:
    """All revisions, from the files' names: `vREVISION_TITLE.py`."""
    return {file.name[1:].partition("_")[0] for file in (_FOLDER / "versions").glob("v*.py")}
