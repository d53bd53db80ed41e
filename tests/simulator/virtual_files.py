"""Files of a simulated run: a process that is killed keeps no lock, and leaves no half commit."""

from __future__ import annotations

import errno
import fcntl
import math
import mmap
import os
import sqlite3
from contextlib import suppress
from types import ModuleType
from typing import Any, Self
from weakref import WeakSet

from tests.simulator.scheduler import Process, running
from tests.simulator.virtual_threads import like, scheduler

_STATEMENT_S = 0.02  # the most that a statement of SQLite takes
_SLOW_S = 1.0  # the same while the disk is slow
_FIRST_MEMORY = 2_000_000  # the descriptor of a run's first shared memory
_WRITES = (
    "COMMIT",
    "CREATE",
    "DELETE",
    "INSERT",
    "REPLACE",
    "UPDATE",
    "PRAGMA journal_mode",
    "PRAGMA wal_checkpoint",
)


class Disk:
    """The disk of all processes of a run."""

    def __init__(self) -> None:
        self._run = scheduler()
        self.full_until = self.slow_until = -math.inf

    @property
    def is_full(self) -> bool:
        """Whether nothing can be written."""
        return self._run.now < self.full_until

    def carry_out(self, statement: str) -> None:
        """Take the time of a statement. Raises sqlite3.OperationalError if the disk is full."""
        self._run.make_way(_STATEMENT_S)
        if self._run.now < self.slow_until and self._run.current:
            until = self._run.now + self._run.rng.uniform(0.0, _SLOW_S)
            self._run.wait(lambda: False, until)
        if self.is_full and statement.startswith(_WRITES):
            error = sqlite3.OperationalError("database or disk is full")
            error.sqlite_errorcode = sqlite3.SQLITE_FULL
            error.sqlite_errorname = "SQLITE_FULL"
            raise error


class Cursor(sqlite3.Cursor):
    """Before each statement other threads may go on, and its process may be killed."""

    def execute(self, sql: str, parameters: Any = (), /) -> Self:
        return super().execute(_carried_out(sql), parameters)

    def executemany(self, sql: str, parameters: Any, /) -> Self:
        return super().executemany(_carried_out(sql), parameters)


class Connection(sqlite3.Connection):
    """Closed when its process ends. Its statements are carried out by its cursors."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._cursors = WeakSet[sqlite3.Cursor]()

    def abandon(self) -> None:
        """Close it and its cursors, of which one with rows left would keep a lock."""
        with suppress(sqlite3.ProgrammingError):  # it is closed already
            for cursor in self._cursors:
                cursor.close()
        self.close()

    def cursor(self, factory: Any = Cursor) -> Any:
        return self._known(super().cursor(factory))

    def execute(self, sql: str, parameters: Any = (), /) -> sqlite3.Cursor:
        return self._known(super().execute(_carried_out(sql), parameters))

    def executemany(self, sql: str, parameters: Any, /) -> sqlite3.Cursor:
        return self._known(super().executemany(_carried_out(sql), parameters))

    def commit(self) -> None:
        _carried_out("COMMIT")
        super().commit()

    def _known(self, cursor: sqlite3.Cursor) -> sqlite3.Cursor:
        self._cursors.add(cursor)
        return cursor


def _carried_out(sql: str) -> str:
    """The statement that SQLite carries out, after the time that it takes."""
    if now := running():
        now.own(Disk).carry_out(sql)
    if sql.startswith("PRAGMA synchronous"):  # no simulated machine loses its power
        return "PRAGMA synchronous=OFF"
    return sql


def _connect(database: Any, **options: Any) -> Connection:
    # Nobody waits for a lock: that would hold up the whole run.
    connection: Connection = sqlite3.connect(
        database, **options | {"timeout": 0.0, "factory": Connection}
    )
    now = running()
    if now and now.current:
        now.current.process.at_end.append(connection.abandon)
    return connection


def sqlite_module() -> ModuleType:
    """`sqlite3`."""
    return like(sqlite3, connect=_connect)


class SharedMemory(dict[int, bytearray]):
    """Memory that processes share, by its descriptors."""

    def add(self) -> int:
        """The descriptor of new memory, without a size yet."""
        descriptor = _FIRST_MEMORY + len(self)
        self[descriptor] = bytearray()
        return descriptor


def _mmap(descriptor: int, size: int) -> bytearray:
    memory = scheduler().own(SharedMemory)[descriptor]
    assert len(memory) == size, "all of it is mapped"
    return memory


def mmap_module() -> ModuleType:
    """`mmap`, of shared memory alone."""
    return like(mmap, mmap=_mmap)


class _Locks(dict[tuple[int, int], Process]):
    """The processes that have locked files, by a file's device and inode."""


def _flock(file: Any, operation: int) -> None:
    """As Python's, but a lock is a process's, which loses it when it ends."""
    now = running()
    if now is None or (operation & fcntl.LOCK_UN and now.current is None):
        return  # objects that a run or a killed process left close their files
    here = scheduler().current
    assert here is not None, "a thread locks a file"
    locks = scheduler().own(_Locks)
    facts = os.fstat(file if isinstance(file, int) else file.fileno())
    key = facts.st_dev, facts.st_ino
    if operation & fcntl.LOCK_UN:
        if locks.get(key) is here.process:
            del locks[key]
        return

    def is_free() -> bool:
        holder = locks.get(key)
        return holder is None or not holder.is_alive

    if not is_free():
        if operation & fcntl.LOCK_NB:
            raise BlockingIOError(errno.EWOULDBLOCK, "another process has locked it")
        scheduler().wait(is_free)
    locks[key] = here.process


def fcntl_module() -> ModuleType:
    """`fcntl`, with flock alone."""
    return like(fcntl, flock=_flock)
