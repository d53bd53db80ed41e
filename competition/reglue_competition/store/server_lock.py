"""The lock that a competition's only server holds on its database."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Protocol

import sqlalchemy as sa
from filelock import FileLock, Timeout

from reglue.errors import RunBusy, UsageError
from reglue.retrying import Backoff
from reglue_competition.store.database import PATIENCE_S, Database

_LOCK = 0x72656773  # of PostgreSQL's advisory locks: held by the server
_GONE_S = 2.0  # how long PostgreSQL may take to see that a killed server is gone
_PAUSES = Backoff(0.05)


class ServerLock:
    """Two servers of two folders with one database would each play the other's submissions.

    In PostgreSQL a connection holds it for as long as it lives, beside SQLite's file a file does.
    """

    def __init__(self, url: str, *, patience_s: float = PATIENCE_S) -> None:
        """Take it. Raises RunBusy if another process holds it, UsageError and StoreFailed."""
        self._database = Database(url, patience_s=patience_s)
        self._kind: _Kind = (
            _Connection(self._database)
            if self._database.file is None
            else _File(f"{self._database.file}.lock")
        )
        try:
            self.keep()
        except BaseException:
            self.close()
            raise

    def keep(self) -> None:
        """Take it again if PostgreSQL was away. Raises RunBusy and StoreFailed."""
        if not self._database.retried(self._kind.has_it):
            raise RunBusy(
                f"{self._database.public_url}: another server has this competition; stop it first"
            )

    def close(self) -> None:
        """Let go of it."""
        self._kind.close()
        self._database.close()


class _Kind(Protocol):
    def has_it(self) -> bool:
        """Whether it is held after this."""

    def close(self) -> None:
        """Let go of it."""


class _File:
    def __init__(self, path: str) -> None:
        self._path = Path(path)
        if not self._path.parent.is_dir():  # which the lock would make
            raise UsageError(f"{self._path} cannot be written: there is no such folder")
        self._lock = FileLock(path, mode=0o600, thread_local=False)

    def has_it(self) -> bool:
        try:
            if not self._lock.is_locked:
                self._lock.acquire(timeout=0)
        except Timeout:
            return False
        except OSError as error:
            raise UsageError(f"{self._path} cannot be written: {error.strerror}") from error
        return True

    def close(self) -> None:
        self._lock.release()


class _Connection:
    def __init__(self, database: Database) -> None:
        self._database = database
        self._held: sa.Connection | None = None

    def has_it(self) -> bool:
        try:
            if self._held is not None:
                self._held.exec_driver_sql("SELECT 1")
                return True
            self._held = self._database.lasting_connection()
            if self._takes_it(self._held):
                return True
        except BaseException:
            self.close()
            raise
        self.close()
        return False

    def _takes_it(self, connection: sa.Connection) -> bool:
        tries = _PAUSES.within(_GONE_S)
        while not connection.exec_driver_sql(f"SELECT pg_try_advisory_lock({_LOCK})").scalar():
            if (pause_s := tries.pause_s()) is None:
                return False
            time.sleep(pause_s)
        return True

    def close(self) -> None:
        if self._held is not None:
            self._held.close()
            self._held = None
