"""Files of a simulated run: a process that is killed keeps no lock, and leaves no half commit."""

from __future__ import annotations

import errno
import fcntl
import os
import sqlite3
from types import ModuleType
from typing import Any

from tests.simulator.scheduler import Process, running
from tests.simulator.virtual_threads import like, scheduler

_STATEMENT_S = 0.02  # for a statement of SQLite, at most: it may wait for the disk


class Connection(sqlite3.Connection):
    """Closed when its process ends. Others may go on before each statement, or end it there."""

    def execute(self, sql: str, parameters: Any = (), /) -> sqlite3.Cursor:
        _make_way()
        return super().execute(sql, parameters)

    def executemany(self, sql: str, parameters: Any, /) -> sqlite3.Cursor:
        _make_way()
        return super().executemany(sql, parameters)


def _make_way() -> None:
    if now := running():
        now.make_way(_STATEMENT_S)


def _connect(database: Any, **options: Any) -> Connection:
    # Nobody waits for a lock: that would hold up the whole run.
    connection: Connection = sqlite3.connect(
        database, **options | {"timeout": 0.0, "factory": Connection}
    )
    now = running()
    if now and now.current:
        now.current.process.at_end.append(connection.close)
    return connection


def sqlite_module() -> ModuleType:
    """`sqlite3`."""
    return like(sqlite3, connect=_connect)


class _Locks(dict[tuple[int, int], Process]):
    """The processes that have locked files, by a file's device and inode."""


def _flock(file: Any, operation: int) -> None:
    """As Python's, but a lock is a process's, which loses it when it ends."""
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
