from __future__ import annotations

import os
import socket
import sqlite3
import stat
import threading
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
import sqlalchemy as sa

from reglue.errors import StoreFailed
from reglue_competition.store import Store, migrate
from reglue_competition.store.database import Database, Transaction, sqlite_url
from tests.error_facts import raises
from tests.reglue_competition.postgresql import PostgreSQL, running


def test_a_sqlite_file_is_the_owners_alone_and_survives_a_power_cut(tmp_path: Path) -> None:
    file = tmp_path / "competition.sqlite"
    migrate(sqlite_url(file))
    with Store(sqlite_url(file)) as store:
        pragmas = ("journal_mode", "synchronous", "foreign_keys")
        found = store._database.read(
            lambda to: [to.exec_driver_sql(f"PRAGMA {each}").scalar() for each in pragmas]
        )
        assert found == ["wal", 2, 1]
        store.note("x")
        modes = {stat.S_IMODE(each.stat().st_mode) for each in tmp_path.iterdir()}
    assert modes == {0o600}


def test_a_folder_may_have_any_name(tmp_path: Path) -> None:
    folder = tmp_path / "a?b=c#d %20 ü"
    folder.mkdir()
    url = sqlite_url(folder / "competition.sqlite")
    migrate(url)
    with Store(url) as store:
        store.note("x")
    assert [each.name for each in tmp_path.iterdir()] == [folder.name]
    assert (folder / "competition.sqlite").stat().st_size


def test_a_file_that_is_gone_is_not_made_anew(tmp_path: Path) -> None:
    file = tmp_path / "competition.sqlite"
    migrate(sqlite_url(file))
    file.unlink()
    with raises(StoreFailed, sqlite_url(file), "0.1 s", "unable to open"):
        Store(sqlite_url(file), patience_s=0.1)
    assert not file.exists()


def test_a_database_without_an_encoding_holds_any_name(postgresql: PostgreSQL) -> None:
    """PostgreSQL makes such ones where its own locale is C, and returns their text as bytes."""
    url = postgresql.new_database("ENCODING SQL_ASCII LC_COLLATE 'C' LC_CTYPE 'C'")
    migrate(url)
    with Store(url) as store:
        assert store.add_team("Zoë 東京") == store.team("Zoë 東京")


@contextmanager
def locked(file: Path) -> Iterator[None]:
    """Another program's transaction."""
    other = sqlite3.connect(file, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    try:
        yield
    finally:
        other.close()


def test_a_transaction_of_another_program_is_waited_for(tmp_path: Path) -> None:
    file = tmp_path / "competition.sqlite"
    migrate(sqlite_url(file))
    with Store(sqlite_url(file), patience_s=0.2) as store:
        with locked(file), raises(StoreFailed, sqlite_url(file), "database is locked"):
            store.note("too long")
        with locked(file):
            assert store.events() == []  # readers do not wait
        store.note("free")
    assert [event.kind for event in store.events()] == ["free"]


def test_nobody_else_begins_to_write_before_a_transaction_that_writes_has_ended(url: str) -> None:
    """Else two could count the same submissions, and both enter one more than a quota allows."""
    one, other = Database(url), Database(url)
    begun, order = threading.Event(), list[str]()

    def count(transaction: Transaction) -> None:
        transaction.connection.scalar(sa.text("SELECT count(*) FROM submission"))

    def second(transaction: Transaction) -> None:
        count(transaction)
        begun.set()
        order.append("second")

    with ThreadPoolExecutor(1) as pool:

        def first(transaction: Transaction) -> Future[None]:
            count(transaction)
            waiting = pool.submit(other.write, second)
            assert not begun.wait(1.0)
            order.append("first")
            return waiting

        one.write(first).result(60.0)
    assert order == ["first", "second"]
    one.close()
    other.close()


def test_a_full_disk_is_told_and_what_was_committed_is_kept(tmp_path: Path) -> None:
    url = sqlite_url(tmp_path / "competition.sqlite")
    migrate(url)
    with Store(url) as store:
        store.note("before")
        engine = store._database._engine
        engine.dispose()
        full = "PRAGMA max_page_count = 1"  # SQLite takes it for the pages that there are
        sa.event.listen(engine, "connect", lambda found, _: found.execute(full))
        with raises(StoreFailed, url, "database or disk is full", "room"):
            store.note("large", words="x" * 100_000)
        assert [event.kind for event in store.events()] == ["before"]


FULL = """
CREATE FUNCTION full_disk() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN RAISE EXCEPTION 'could not extend file' USING ERRCODE = 'disk_full'; END $$;
CREATE TRIGGER full_disk BEFORE INSERT ON team EXECUTE FUNCTION full_disk()
"""


def test_postgresqls_full_disk_is_told_at_once(postgresql: PostgreSQL) -> None:
    url = postgresql.new_database()
    migrate(url)
    with Store(url) as store:
        store._database.write(lambda to: [to.connection.execute(sa.text(FULL))].clear())
        with raises(StoreFailed, "could not extend file", "room"):
            store.add_team("A")
        assert store.teams() == []


@pytest.mark.postgresql
def test_postgresql_may_go_away_and_come_back() -> None:
    with running() as server:
        url = server.new_database()
        migrate(url)
        with Store(url) as store, Store(url, patience_s=0.2) as impatient:
            store.note("before")
            impatient.note("before")
            server.stop()
            with raises(StoreFailed, "0.2 s"):
                impatient.note("away")
            found = threading.Thread(target=store.note, args=["meanwhile"])
            found.start()
            server.start()
            found.join(30)
            assert not found.is_alive()
            impatient.note("after")
            kinds = [event.kind for event in store.events()]
            assert kinds == ["before", "before", "meanwhile", "after"]


class Relay:
    """Passes bytes to PostgreSQL, and cuts the connection before a commit's answer if asked."""

    def __init__(self, folder: Path, target: Path) -> None:
        self.cuts = 0  # answers that are still to be lost
        self._target = str(target)
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(str(folder / target.name))
        self._listener.listen()
        self._threads = [threading.Thread(target=self._accept)]
        self._threads[0].start()

    def close(self) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        for thread in self._threads:
            thread.join(30)

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                near, _ = self._listener.accept()
                self._threads.append(threading.Thread(target=self._pass, args=[near]))
                self._threads[-1].start()

    def _pass(self, near: socket.socket) -> None:
        far = socket.socket(socket.AF_UNIX)
        far.connect(self._target)
        back = threading.Thread(target=self._back, args=[far, near])
        back.start()
        while sent := _received(near):
            if b"COMMIT\0" in sent and self.cuts:
                self.cuts -= 1
                near.shutdown(socket.SHUT_RDWR)
            far.sendall(sent)
        with suppress(OSError):
            far.shutdown(socket.SHUT_WR)
        back.join(30)
        near.close()
        far.close()

    def _back(self, far: socket.socket, near: socket.socket) -> None:
        while answer := _received(far):
            with suppress(OSError):
                near.sendall(answer)


def _received(end: socket.socket) -> bytes:
    with suppress(OSError):
        return end.recv(65536)
    return b""


def test_a_commit_whose_answer_was_lost_is_made_once(
    postgresql: PostgreSQL, tmp_path: Path
) -> None:
    url = postgresql.new_database()
    migrate(url)
    real = Path(url.partition("host=")[2]) / ".s.PGSQL.5432"
    folder = Path(os.environ["TMPDIR"]) / f"relay-{os.getpid()}"  # a socket's path is short
    folder.mkdir()
    relay = Relay(folder, real)
    try:
        with Store(url.replace(str(real.parent), str(folder))) as store:
            relay.cuts = 1
            team = store.add_team("A")  # a second try would find the name taken
            assert relay.cuts == 0
            assert store.teams() == [team]
            relay.cuts = 1
            store.note("x")
            assert [event.kind for event in store.events()] == ["team added", "x"]
    finally:
        relay.close()


def test_errors_show_no_password(tmp_path: Path) -> None:
    url = f"postgresql://reglue:geheim@/x?host={tmp_path}"
    with pytest.raises(StoreFailed) as told:
        Database(url, patience_s=0.1).read(lambda to: to.exec_driver_sql("SELECT 1"))
    assert "geheim" not in str(told.value)
