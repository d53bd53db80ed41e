"""Opens a ledger's SQLite file, and turns its errors into ours."""

from __future__ import annotations

import errno
import logging
import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import sqlalchemy as sa

from reglue.errors import ReglueError, RunBusy, RunDamaged, StorageFailed, setting
from reglue_bench.run_folder import LEDGER

log = logging.getLogger("reglue")

_WAIT_S = 60  # for another program's transaction
_CACHE_KIB = 1024  # of pages: a long run fills it
_DURABLE = ("wal", "delete")  # journals that survive a power cut
_MOST_WORDS = 300  # of SQLite's own
_WAL = b"\2\2"  # bytes 18 and 19 of a file with a write-ahead log

BUSY = {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED}
DISK = {
    sqlite3.SQLITE_FULL,
    sqlite3.SQLITE_IOERR,
    sqlite3.SQLITE_READONLY,
    sqlite3.SQLITE_CANTOPEN,
    sqlite3.SQLITE_PERM,
}
CANNOT_SHARE = {sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY}
"""The error if a reader cannot create the files that readers and the writer share."""


def opened(folder: Path, *, mode: str, file: str = LEDGER, synchronous: str = "FULL") -> sa.Engine:
    """The ledger of a folder; `mode` is SQLite's: `ro`, `rw` or `rwc`."""
    uri = f"{(folder / file).absolute().as_uri()}?mode={mode}"

    def connect() -> sqlite3.Connection:
        # Threads: the recorder's, and the one that closes its connection.
        connection = sqlite3.connect(uri, uri=True, timeout=_WAIT_S, check_same_thread=False)
        connection.execute(f"PRAGMA synchronous={synchronous}")
        connection.execute(f"PRAGMA cache_size=-{_CACHE_KIB}")
        return connection

    return sa.create_engine(
        "sqlite://", creator=connect, poolclass=sa.QueuePool, hide_parameters=True
    )


def begin_journal(connection: sa.Connection, folder: Path) -> None:
    """Commits that wait for the disk, beside which others can read.

    Where SQLite answers that the file system cannot share memory, a rollback journal is kept:
    as durable, but readers wait for commits. Raises StorageFailed for any other answer.
    """
    answer = connection.exec_driver_sql("PRAGMA journal_mode=WAL").scalar()
    if answer not in _DURABLE:
        raise StorageFailed(
            folder,
            got=f"SQLite's journal {answer!r}",
            wanted=(
                f"one of {', '.join(_DURABLE)}, which survive a power cut; choose a "
                "folder on a local disk"
            ),
        )


def end_journal(connection: sa.Connection) -> None:
    """Leave a single file, which can be copied, and read on a read-only disk.

    While another program reads, the journal stays; the main file then holds all commits too.
    """
    connection.exec_driver_sql("PRAGMA busy_timeout=0")
    try:
        connection.exec_driver_sql("PRAGMA journal_mode=DELETE")
    except sa.exc.OperationalError:
        connection.exec_driver_sql("PRAGMA wal_checkpoint(PASSIVE)")


def warn_of_lost_journal(folder: Path) -> None:
    """Log it if the ledger is one with a journal, and there is none, or nothing in it.

    A run that was killed leaves its journal, which holds what was committed last. SQLite takes a
    file without it for whole.
    """
    journal = folder / f"{LEDGER}-wal"
    with suppress(OSError):  # opening it reports the reason
        with (folder / LEDGER).open("rb") as file:
            has_journal = file.read(20)[18:] == _WAL
        if has_journal and not (journal.exists() and journal.stat().st_size):
            log.warning(
                "%s is missing: it held what the run committed last; copy it too, or let "
                "`reglue bench --resume %s` play those episodes again",
                *(journal, folder),
            )


@contextmanager
def translating_errors(folder: Path) -> Iterator[None]:
    """SQLite's errors as ours: RunBusy, StorageFailed, RunDamaged."""
    try:
        yield
    except sa.exc.DBAPIError as error:
        raise _ours(folder, error.orig) from error.orig
    except sqlite3.Error as error:  # while it is opened
        raise _ours(folder, error) from error


def code_of(error: BaseException | None) -> int | None:
    """SQLite's primary result code; None for an error of its Python module."""
    code: int | None = getattr(error, "sqlite_errorcode", None)
    return None if code is None else code & 0xFF


def damaged(folder: Path, what: str) -> RunDamaged:
    """The error for a ledger in which `what` was changed."""
    return RunDamaged(
        f"{folder / LEDGER} is damaged: {what}; take the folder from a copy, or play the run again "
        f"in another {setting('out')}"
    )


def sqlite_text(error: BaseException | None) -> str:
    """SQLite's own."""
    return str(error)[:_MOST_WORDS]


def _ours(folder: Path, error: BaseException | None) -> ReglueError:
    cause, code = sqlite_text(error), code_of(error)
    if code in BUSY:
        return RunBusy(f"{folder}: another program holds {LEDGER}: {cause}; try again later")
    file = folder / LEDGER
    if code in CANNOT_SHARE and file.exists() and not os.access(file, os.R_OK | os.W_OK):
        return StorageFailed(f"{file} cannot be used: {os.strerror(errno.EACCES)}")
    if code in DISK:
        return StorageFailed(
            f"{folder / LEDGER} cannot be used: {cause}; what was committed is kept: when the disk "
            f"can be written to again, `reglue bench --resume {folder}` goes on"
        )
    if code == sqlite3.SQLITE_PROTOCOL:
        return StorageFailed(
            f"{folder}: its file system does not lock files as SQLite wants it: {cause}; "
            "choose a folder on a local disk"
        )
    if code == sqlite3.SQLITE_NOTADB:
        return damaged(folder, f"it is not a ledger: {cause}")
    return damaged(folder, cause)
