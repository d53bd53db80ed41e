"""A PostgreSQL server for tests: without TCP, in a folder of its own."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import count
from pathlib import Path

import sqlalchemy as sa

from reglue_competition.store import migrate
from reglue_competition.store.schema import TABLES
from tests.waiting import PATIENCE_S, until

_NOBODY = 65534  # PostgreSQL refuses to run as root
_SETTINGS = (
    "listen_addresses=",
    "shared_buffers=16MB",
    "max_connections=60",
    "fsync=off",  # no test cuts the power
    "max_wal_senders=0",
    "autovacuum=off",
)


class PostgreSQL:
    """A server that can be stopped and started again."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._process: subprocess.Popen[bytes] | None = None
        self._numbers = count(1)
        self._emptied: str | None = None
        owner = ["-U", "reglue", "-A", "trust"]
        words = [_program("initdb"), "-D", self._data, *owner, "--no-sync", "-E", "UTF8"]
        subprocess.run(_as_nobody(words), check=True, capture_output=True, timeout=PATIENCE_S)

    @property
    def _data(self) -> str:
        return str(self._folder / "data")

    def start(self) -> None:
        """Return once it answers."""
        settings = [word for each in _SETTINGS for word in ("-c", each)]
        words = [_program("postgres"), "-D", self._data, "-k", str(self._folder), *settings]
        with (self._folder / "log").open("ab") as log:
            self._process = subprocess.Popen(_as_nobody(words), stdout=log, stderr=log)
        until(self._answers, "PostgreSQL answers")

    def stop(self, with_signal: signal.Signals = signal.SIGINT) -> None:
        """End it; with SIGINT it closes its clients' connections first."""
        assert self._process is not None
        self._process.send_signal(with_signal)
        self._process.wait(PATIENCE_S)

    def new_database(self, how: str = "") -> str:
        """The URL of an empty database; `how` it is made, in PostgreSQL's words."""
        name = f"test_{next(self._numbers)}"
        self._run(f"CREATE DATABASE {name} TEMPLATE template0 STRATEGY wal_log {how}")
        return self._url(name)

    def emptied_database(self) -> str:
        """The URL of a database with a store's tables, in which nothing is: always the same one."""
        if self._emptied is None:
            self._emptied = self.new_database()
            migrate(self._emptied)
        names = ", ".join(TABLES.tables)
        # As a replica: no trigger refuses.
        words = f"SET session_replication_role = replica; TRUNCATE {names} RESTART IDENTITY"
        self._run(words, self._emptied)
        return self._emptied

    def _answers(self) -> bool:
        try:
            self._run("SELECT 1")
        except sa.exc.OperationalError:
            assert self._process is not None
            assert self._process.poll() is None, (self._folder / "log").read_text()
            return False
        return True

    def _run(self, words: str, url: str | None = None) -> None:
        engine = sa.create_engine(url or self._url("postgres"), isolation_level="AUTOCOMMIT")
        try:
            with engine.connect() as connection:
                connection.exec_driver_sql(words)
        finally:
            engine.dispose()

    def _url(self, name: str) -> str:
        return f"postgresql+psycopg://reglue@/{name}?host={self._folder}"


@contextmanager
def running() -> Iterator[PostgreSQL]:
    """A server, ended at the end."""
    with tempfile.TemporaryDirectory(prefix="pg-") as name:
        folder = Path(name)
        if os.getuid() == 0:
            os.chown(folder, _NOBODY, _NOBODY)
        server = PostgreSQL(folder)
        server.start()
        try:
            yield server
        finally:
            server.stop()


def _program(name: str) -> str:
    debians = sorted(Path("/usr/lib/postgresql").glob(f"*/bin/{name}"))
    found = str(debians[-1]) if debians else shutil.which(name)
    assert found, f"there is no {name}: sh .ci/postgres"
    return found


def _as_nobody(words: Sequence[str]) -> list[str]:
    if os.getuid() != 0:
        return list(words)
    nobody = [f"--reuid={_NOBODY}", f"--regid={_NOBODY}", "--clear-groups", "--pdeathsig=INT"]
    return ["setpriv", *nobody, "--", *words]
