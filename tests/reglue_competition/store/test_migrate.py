from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
import sqlalchemy as sa
from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory

from reglue.errors import UsageError
from reglue_competition.store import MOST_WAIT, Store, migrate
from reglue_competition.store.database import Database
from reglue_competition.store.migrate import _FOLDER, head
from reglue_competition.store.schema import TABLES
from tests.error_facts import raises


def test_migrations_lead_to_the_tables_that_the_store_uses(url: str) -> None:
    def differences(connection: sa.Connection) -> list[object]:
        options = {"compare_type": True, "compare_server_default": True}
        return list(compare_metadata(MigrationContext.configure(connection, opts=options), TABLES))

    database = Database(url)
    assert database.read(differences) == []
    assert database.read(constraints) == {
        "ck_competition_one",
        "ck_phase_cells",
        "ck_phase_kind",
        "ck_phase_state",
        "ck_submission_status",
    }
    database.close()


def test_files_of_migrations_are_named_by_their_revisions() -> None:
    config = Config()
    config.set_main_option("script_location", str(_FOLDER))
    scripts = ScriptDirectory.from_config(config)
    assert head() == scripts.get_current_head()
    for script in scripts.walk_revisions():
        assert Path(script.path).name.startswith(f"v{script.revision}_")


def constraints(connection: sa.Connection) -> set[str | None]:
    """Alembic does not compare those."""
    found = sa.inspect(connection)
    return {each["name"] for name in TABLES.tables for each in found.get_check_constraints(name)}


def test_a_database_that_is_up_to_date_stays_as_it_is(store: Store, url: str) -> None:
    store.add_team("A")
    migrate(url)
    assert [team.name for team in store.teams()] == ["A"]


def test_two_programs_may_migrate_at_once(empty_url: str) -> None:
    with ThreadPoolExecutor(2) as pool:
        list(pool.map(migrate, [empty_url, empty_url]))
    Store(empty_url).close()


def test_a_migration_that_was_broken_off_left_nothing_and_can_be_repeated(empty_url: str) -> None:
    def broken_off(_: object, __: object, statement: str, *___: object) -> None:
        if "CREATE TABLE submission" in statement:
            raise KeyboardInterrupt

    sa.event.listen(sa.Engine, "after_cursor_execute", broken_off)
    try:
        with pytest.raises(KeyboardInterrupt):
            migrate(empty_url)
    finally:
        sa.event.remove(sa.Engine, "after_cursor_execute", broken_off)
    database = Database(empty_url)
    assert database.read(lambda connection: sa.inspect(connection).get_table_names()) == []
    database.close()
    migrate(empty_url)
    Store(empty_url).close()


def test_what_an_older_reglue_stored_is_kept(empty_url: str) -> None:
    """A phase has closed when the log says so, what waits has waited since it was entered, and
    events are as they were, with their names and texts.
    """
    entered, closed = datetime(2026, 1, 2, tzinfo=UTC), datetime(2026, 1, 3, tzinfo=UTC)
    database = Database(empty_url, creates=True)
    database.write(lambda transaction: _first_revision(transaction.connection, entered, closed))
    database.close()
    migrate(empty_url)
    with Store(empty_url) as store:
        one, other = store.phases()
        assert (one.closed_at, other.closed_at) == (closed, None)
        (waiting,) = store.submissions()
        assert (waiting.waits_since, waiting.interrupted, waiting.broken) == (entered, 0, 0)
        assert waiting.waits_until(one) == closed + MOST_WAIT
        assert [(each.team, each.phase) for each in store.tokens()] == [("A", None)]
        events = [(each.kind, each.team, dict(each.detail)) for each in store.events()]
        assert events == [
            ("phase closed", None, {"phase": "one"}),
            ("phase closed", None, {"phase": "another"}),
            ("submission entered", "A", {"name": "sarsa", "phase": "one"}),
            ("ruling", "A", {"why": "slow", "standing": "unranked"}),
        ]
        store.set_status(waiting.id, "withdrawn")
        store.forget_team("A")
        assert "sarsa" not in str(store.events())
        assert "slow" not in str(store.events())


def _first_revision(connection: sa.Connection, entered: datetime, closed: datetime) -> None:
    config = Config()
    config.set_main_option("script_location", str(_FOLDER))
    config.attributes["connection"] = connection
    command.upgrade(config, "0001")
    tables = sa.MetaData()
    tables.reflect(connection)
    later = closed + timedelta(days=300)
    phase = {"kind": "public", "opens_at": entered, "closes_at": later, "open_asked": False}
    rows: dict[str, list[dict[str, object]]] = {
        "phase": [
            phase | {"id": 1, "name": "one", "state": "closed", "cells": "own"},
            phase | {"id": 2, "name": "two", "state": "open", "cells": "own", "opens_at": closed},
        ],
        "event": [
            {"kind": "phase closed", "detail": {"phase": "one"}},
            {"kind": "phase closed", "detail": {"phase": "another"}},
            {"kind": "submission entered", "detail": {"name": "sarsa", "phase": "one"}},
            {"kind": "ruling", "detail": {"standing": "unranked", "why": "slow"}},
        ],
        "team": [{"id": 1, "name": "A", "created_at": entered}],
        "token": [{"id": "b", "team_id": 1, "sha256": "c", "created_at": entered}],
        "submission": [
            {"id": "0a", "team_id": 1, "phase_id": 1, "name": "sarsa", "status": "waiting"}
        ],
    }
    for row in rows["event"]:
        row |= {
            "operation": "",
            "at": closed,
            "team": None if row["kind"] == "phase closed" else "A",
        }
    rows["submission"][0] |= {"detail": "", "queued_at": entered, "cancel_asked": False}
    rows["submission"][0] |= {"draw": 0, "progress": {}}
    for name, each in rows.items():
        connection.execute(sa.insert(tables.tables[name]), each)


def test_a_database_without_tables_is_refused(empty_url: str) -> None:
    made = Database(empty_url, creates=True)
    made.close()
    with raises(UsageError, "revision none", head(), "`reglue competition migrate FOLDER`"):
        Store(empty_url)


def test_a_database_of_a_newer_reglue_is_refused(empty_url: str) -> None:
    url = empty_url
    migrate(url)
    database = Database(url)
    newer = sa.text("UPDATE alembic_version SET version_num = '9999'")
    database.write(lambda transaction: [transaction.connection.execute(newer)].clear())
    database.close()
    for use in (Store, migrate):
        with raises(UsageError, "revision 9999", "newer"):
            use(url)


@pytest.mark.parametrize("url", ["mysql://x", "sqlite://", "sqlite:///", "nonsense"])
def test_other_databases_are_refused(url: str) -> None:
    with raises(UsageError, "sqlite:////FOLDER/FILE", "postgresql://USER@HOST/DATABASE"):
        migrate(url)
