"""Opens a ledger's SQLite file, and turns its errors into ours."""

from __future__ import annotations

import errno
import logging
import os
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from itertools import chain
from pathlib import Path
from typing import TypeVar

from reglue.errors import ReglueError, RunBusy, RunDamaged, StorageFailed, setting
from reglue_bench.run_folder import LEDGER

log = logging.getLogger("reglue")

_Value = TypeVar("_Value")

_WAIT_S = 60  # for another program's transaction
_CACHE_KIB = 1024  # of pages: a long run fills it
_DURABLE = ("wal", "delete")  # journals that survive a power cut
_MOST_WORDS = 300  # of SQLite's own
_MOST_VALUES = 999  # of a statement; what every SQLite takes
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


def opened(
    folder: Path, *, mode: str, file: str = LEDGER, synchronous: str = "FULL"
) -> sqlite3.Connection:
    """The ledger of a folder, for one thread at a time; `mode` is SQLite's: `ro`, `rw` or `rwc`."""
    uri = f"{(folder / file).absolute().as_uri()}?mode={mode}"
    connection = sqlite3.connect(
        uri, uri=True, timeout=_WAIT_S, check_same_thread=False, isolation_level=None
    )
    connection.execute(f"PRAGMA synchronous={synchronous}")
    connection.execute(f"PRAGMA cache_size=-{_CACHE_KIB}")
    return connection


@contextmanager
def transaction(connection: sqlite3.Connection) -> Iterator[None]:
    """Commit what is written here, all or nothing."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        with suppress(sqlite3.Error):  # SQLite itself may have rolled back
            connection.execute("ROLLBACK")
        raise


def make_tables(connection: sqlite3.Connection, tables: Mapping[str, str]) -> None:
    """Make the tables that are missing: a process that was killed may have made some."""
    for name, columns in tables.items():
        connection.execute(f"CREATE TABLE IF NOT EXISTS {name} {columns}")


def table_names(connection: sqlite3.Connection) -> set[str]:
    """The names of all tables that are there."""
    query = "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT GLOB 'sqlite_*'"
    return {name for (name,) in connection.execute(query)}


def insert(
    connection: sqlite3.Connection,
    table: str,
    rows: Sequence[Sequence[object]],
    *,
    replace: bool = False,
) -> None:
    """Rows with a value for each column; `replace`: in place of those of the same keys.

    In few statements: each lets other threads run, and has to wait for them.
    """
    if not rows:
        return
    verb, row = "REPLACE" if replace else "INSERT", f"({_places(len(rows[0]))})"
    for some in _portions(rows, _MOST_VALUES // len(rows[0])):
        values = list(chain.from_iterable(some))
        connection.execute(f"{verb} INTO {table} VALUES {', '.join([row] * len(some))}", values)


def delete(
    connection: sqlite3.Connection, table: str, column: str, values: Sequence[object]
) -> None:
    """The rows with one of those values, in few statements."""
    for some in _portions(values, _MOST_VALUES):
        query = f"DELETE FROM {table} WHERE {column} IN ({_places(len(some))})"
        connection.execute(query, some)


def _places(count: int) -> str:
    return ", ".join("?" * count)


def _portions(values: Sequence[_Value], most: int) -> Iterator[Sequence[_Value]]:
    return (values[first : first + most] for first in range(0, len(values), most))


def begin_journal(connection: sqlite3.Connection, folder: Path) -> None:
    """Commits that wait for the disk, beside which others can read.

    Where SQLite answers that the file system cannot share memory, a rollback journal is kept:
    as durable, but readers wait for commits. Raises StorageFailed for any other answer.
    """
    (answer,) = connection.execute("PRAGMA journal_mode=WAL").fetchone()
    if answer not in _DURABLE:
        raise StorageFailed(
            folder,
            got=f"SQLite's journal {answer!r}",
            wanted=(
                f"one of {', '.join(_DURABLE)}, which survive a power cut; choose a "
                "folder on a local disk"
            ),
        )


def end_journal(connection: sqlite3.Connection) -> None:
    """Leave a single file, which can be copied, and read on a read-only disk.

    While another program reads, the journal stays; the main file then holds all commits too.
    """
    connection.execute("PRAGMA busy_timeout=0")
    try:
        connection.execute("PRAGMA journal_mode=DELETE")
    except sqlite3.OperationalError:
        connection.execute("PRAGMA wal_checkpoint(PASSIVE)")


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
    except sqlite3.Error as error:
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
