from __future__ import annotations

from contextlib import closing
from pathlib import Path

import pytest

from reglue.errors import RunBusy, StoreFailed, UsageError
from reglue_competition.store.database import sqlite_url
from reglue_competition.store.server_lock import ServerLock
from tests.error_facts import raises
from tests.reglue_competition.postgresql import PostgreSQL


def test_a_database_has_one_server_whatever_its_folder(url: str) -> None:
    with closing(ServerLock(url)) as first:
        with raises(RunBusy, "another server has this competition"):
            ServerLock(url)
        first.keep()
    ServerLock(url).close()


def test_a_lock_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    with raises(UsageError, "gone", "cannot be written"):
        ServerLock(sqlite_url(tmp_path / "gone" / "competition.sqlite"))


@pytest.mark.slow
def test_it_is_taken_again_when_postgresql_comes_back(postgresql: PostgreSQL) -> None:
    url = postgresql.emptied_database()
    with closing(ServerLock(url, patience_s=0.3)) as lock:
        postgresql.stop()
        try:
            with raises(StoreFailed, "did not answer"):
                lock.keep()
        finally:
            postgresql.start()
        lock.keep()
        with raises(RunBusy):
            ServerLock(url)


@pytest.mark.slow
def test_a_server_that_was_away_from_postgresql_may_find_another_there(
    postgresql: PostgreSQL,
) -> None:
    url = postgresql.emptied_database()
    with closing(ServerLock(url)) as lock:
        postgresql.stop()
        postgresql.start()
        with closing(ServerLock(url)), raises(RunBusy):
            lock.keep()
        lock.keep()
