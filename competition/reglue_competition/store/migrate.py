"""Makes a competition's database, and brings an older one up to date."""

from __future__ import annotations

from pathlib import Path

import sqlalchemy as sa
from alembic import command
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory

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
        database.write(_upgraded)
    finally:
        database.close()


def head() -> str:
    """The revision of this Reglue's tables."""
    found = _script().get_current_head()
    assert found is not None
    return found


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


def _upgraded(transaction: Transaction) -> None:
    _check_known(_revision(transaction.connection))
    config = _config()
    config.attributes["connection"] = transaction.connection
    command.upgrade(config, "head")


def _check_known(revision: str | None) -> None:
    known = {script.revision for script in _script().walk_revisions()}
    if revision is not None and revision not in known:
        raise UsageError(
            f"the competition's database is of revision {revision}, which this Reglue does not "
            "know: it was made by a newer one; install that"
        )


def _revision(connection: sa.Connection) -> str | None:
    return MigrationContext.configure(connection).get_current_revision()


def _script() -> ScriptDirectory:
    return ScriptDirectory.from_config(_config())


def _config() -> Config:
    config = Config()
    config.set_main_option("script_location", str(_FOLDER).replace("%", "%%"))
    return config
