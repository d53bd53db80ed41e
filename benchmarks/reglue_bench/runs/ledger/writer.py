"""The one process that writes a run's ledger.

A unit's outcomes are committed in one transaction, so that a crash at any point leaves whole
units. A unit's last complete try counts.
"""

from __future__ import annotations

import contextlib
import sqlite3
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple, Self

from filelock import BaseFileLock, FileLock, Timeout

from glue_server.processes.interrupts import uninterrupted
from reglue.errors import RunBusy, RunDamaged, RunExists, StorageFailed, UsageError, setting
from reglue_bench.run_folder import LEDGER
from reglue_bench.runs.ledger import tables
from reglue_bench.runs.ledger.reader import (
    AGENT_NAME,
    DIGEST,
    ENDED_EARLY,
    EVENT,
    FORMAT,
    SESSIONS,
    LedgerReader,
    Totals,
    check_holds_run,
    check_there,
    facts,
)
from reglue_bench.runs.ledger.storage import (
    begin_journal,
    damaged,
    delete,
    end_journal,
    insert,
    make_tables,
    opened,
    sqlite_text,
    table_names,
    transaction,
    translating_errors,
)
from reglue_bench.runs.ledger.tries import Rows, Try

LOCK = "lock"


class Begun(NamedTuple):
    """A unit of which the `attempt`-th try begins."""

    unit: int
    attempt: int


class Ledger(LedgerReader):
    """A ledger open for writing; one process at a time.

    Every method that writes raises StorageFailed if the disk is full or gone.
    """

    _writing: threading.Lock
    _lock: BaseFileLock
    _wrote: bool  # there may be a journal
    _new: Sequence[Path]  # the folders that were made for it, the innermost first
    _is_durable: bool  # its commits survive a power cut

    def __init__(self, folder: Path, *, within_s: float = 0.0) -> None:
        """Continue the run in a folder. Waits so long for a process that still writes to it.

        Raises UsageError (RunDamaged, RunBusy).
        """
        self._lock_folder(check_there(folder), within_s)
        try:
            self._connect()
            check_holds_run(self._connection, folder)
            self._begin_journal()
        except BaseException:
            self.close()
            raise

    @classmethod
    def create(
        cls,
        folder: Path,
        about: Mapping[str, str],
        *,
        within_s: float = 0.0,
        is_durable: bool = True,
    ) -> Self:
        """Begin a run in `folder`. Raises RunExists if there is one, and RunBusy.

        One that is not durable does not wait for the disk, and a power cut may damage it.
        """
        new = [each for each in (folder, *folder.parents) if not each.exists()]
        try:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError as error:
            raise UsageError(
                f"{folder} cannot be made: {error.strerror}; choose another {setting('out')}"
            ) from error
        file = folder / LEDGER
        if file.is_dir():
            raise UsageError(f"{file} is a folder; choose another {setting('out')}")
        ledger = cls.__new__(cls)
        ledger._lock_folder(folder, within_s, is_durable=is_durable)
        ledger._new = new
        # Under the lock: another process may have begun a run here just before.
        is_new = not file.exists() or not file.stat().st_size
        try:
            ledger._begin(about)
        except BaseException as error:
            if not is_new:
                ledger.close()
                raise
            ledger.forget()
            if isinstance(error, StorageFailed):
                raise StorageFailed(
                    f"{folder}: no run was begun, as its disk cannot be written to: "
                    f"{sqlite_text(error.__cause__)}; make room there, or choose another "
                    f"{setting('out')}"
                ) from error
            raise
        return ledger

    @classmethod
    def check_vacant(cls, folder: Path) -> None:
        """Raise RunExists, RunBusy or RunDamaged if `create` would."""
        try:
            cls(folder).close()
        except (RunBusy, RunDamaged):
            raise
        except UsageError:  # no run
            return
        raise _exists(folder)

    def close(self) -> None:
        """Release the file and the lock. What was committed is in the one file then."""
        with self._closing, suppress(sqlite3.Error):
            if self._wrote:
                self._wrote = False
                end_journal(self._connection)
        # Last: the next writer must find one closed file.
        self._lock.release()

    def forget(self) -> None:
        """Close, and remove what `create` made: nothing was played."""
        self.close()
        for file in self._folder.glob(f"{LEDGER}*"):
            file.unlink()
        with suppress(OSError):  # other files are not ours
            (self._folder / LOCK).unlink()
            for folder in self._new:
                folder.rmdir()

    def name_agent(self, name: str) -> str:
        """The name of the run's agent: that of the first one to connect."""
        self.note(AGENT_NAME, name)
        return self.about[AGENT_NAME]

    def note(self, name: str, value: str) -> None:
        """An entry of `about`, unless there is one of that name."""
        with self._transaction() as connection:
            if name not in facts(connection, self._folder):
                self._set(connection, {name: value})

    def count_event(self, what: str, times: int = 1) -> None:
        """Note that it happened, so many times more."""
        with self._transaction() as connection:
            count = int(facts(connection, self._folder).get(EVENT + what, "0")) + times
            self._set(connection, {EVENT + what: str(count)})

    def renote(self, name: str, value: str) -> None:
        """An entry of `about`, in place of the one of that name."""
        with self._transaction() as connection:
            self._set(connection, {name: value})

    @property
    def has_no_early_end(self) -> bool:
        """Whether the last session has noted none. If a unit has no row, its process has died."""
        about = self.about
        return SESSIONS in about and not about[ENDED_EARLY]

    def begin_session(self) -> int:
        """Begin a session: this process writes. Returns the key of its totals."""
        with self._transaction() as connection:
            session = int(facts(connection, self._folder).get(SESSIONS, "0")) + 1
            self._set(connection, {SESSIONS: str(session), ENDED_EARLY: ""})
            insert(connection, "session", [_spent(session, Totals())])
        return session

    def record(
        self,
        tries: Sequence[Try],
        *,
        begun: Sequence[Begun] = (),
        session: int,
        totals: Totals | None = None,
    ) -> None:
        """Commit tries of units in one transaction, with their actions and the session's totals.

        Rewards are kept if the outcomes hold any. Of the units that have begun, those without a try
        are kept as that, until they have one.
        """
        rows = Rows()
        for each in tries:
            if not each.is_long:
                rows.join(each.rows)
        with self._transaction() as connection:
            for each in tries:
                if each.is_long:
                    rows.add(each, connection)
            rows.insert(connection)
            self._begin_and_end(connection, begun, tries)
            if totals is not None:
                self._spend(connection, session, totals)

    def end_session(self, ended_early: str | None) -> None:
        """End the session; `ended_early` says why if the plan is not played."""
        with self._transaction() as connection:
            self._set(connection, {ENDED_EARLY: ended_early or ""})

    def spend(self, session: int, totals: Totals) -> None:
        """Keep what a session has spent so far."""
        with self._transaction() as connection:
            self._spend(connection, session, totals)

    def _lock_folder(self, folder: Path, within_s: float, *, is_durable: bool = True) -> None:
        self._folder = folder
        self._is_durable = is_durable
        self._new = [folder]
        self._closing = ExitStack()
        self._wrote = False
        self._writing = threading.Lock()
        self._lock = FileLock(folder / LOCK, mode=0o600)
        try:
            self._lock.acquire(timeout=within_s)
        except Timeout as error:
            raise RunBusy(f"{folder}: another process is writing to this run") from error
        except (OSError, NotImplementedError) as error:
            raise UsageError(f"{folder} cannot be written to: {error}") from error

    def _connect(self) -> None:
        with translating_errors(self._folder):
            synchronous = "FULL" if self._is_durable else "OFF"
            connection = opened(self._folder, mode="rw", synchronous=synchronous)
            self._connection = self._closing.enter_context(contextlib.closing(connection))

    def _begin(self, about: Mapping[str, str]) -> None:
        (self._folder / LEDGER).touch(mode=0o600)  # SQLite's other files get the same rights
        self._connect()
        with translating_errors(self._folder):
            unknown = table_names(self._connection) - tables.TABLES.keys()
        # A process that died while it began left no row: there is no run yet.
        if unknown:
            raise damaged(self._folder, f"got the tables {', '.join(sorted(unknown))}")
        self._begin_journal()
        with self._transaction() as connection:
            make_tables(connection, tables.TABLES)
            for table in ("about", "try", "outcome"):
                if connection.execute(f"SELECT 1 FROM {table}").fetchone():
                    raise _exists(self._folder)
            known = {"format": str(FORMAT)} | dict(about)
            known[DIGEST] = tables.digest_of_facts(known)
            insert(connection, "about", [*known.items()])

    def _begin_journal(self) -> None:
        self._wrote = True
        with translating_errors(self._folder):
            begin_journal(self._connection, self._folder)

    @contextmanager
    def _reading(self) -> Iterator[sqlite3.Connection]:
        """A connection of its own: other threads write meanwhile."""
        with (
            translating_errors(self._folder),
            contextlib.closing(opened(self._folder, mode="rw")) as connection,
        ):
            yield connection

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        # Ctrl-C is held back around the lock too: raised between its lines, it could leave the lock
        # taken.
        with (
            translating_errors(self._folder),
            uninterrupted(),
            self._writing,
            transaction(self._connection),
        ):
            yield self._connection

    def _set(self, connection: sqlite3.Connection, new: dict[str, str]) -> None:
        """Change an entry of `about`, and its digest."""
        known = facts(connection, self._folder) | new
        for name, text in {**new, DIGEST: tables.digest_of_facts(known)}.items():
            connection.execute("INSERT OR REPLACE INTO about VALUES (?, ?)", (name, text))

    @staticmethod
    def _begin_and_end(
        connection: sqlite3.Connection, begun: Sequence[Begun], tries: Sequence[Try]
    ) -> None:
        """Take down which units are in play."""
        over = {each.unit for each in tries}
        delete(connection, "begun", "unit", [*over])
        rows = [(*each, tables.digest_of_row(*each)) for each in begun if each.unit not in over]
        insert(connection, "begun", rows, replace=True)

    @staticmethod
    def _spend(connection: sqlite3.Connection, session: int, totals: Totals) -> None:
        insert(connection, "session", [_spent(session, totals)], replace=True)


def check_empty(folder: Path) -> None:
    """Raise UsageError if a folder holds files and no run: a run has a folder of its own."""
    if not folder.is_dir() or (folder / LEDGER).exists():  # of which `create` tells
        return
    names = sorted({file.name for file in folder.iterdir()} - {LOCK})
    if names:
        some = ", ".join(names[:3]) + (" …" if len(names) > 3 else "")
        raise UsageError(
            got=f"the folder {folder}, which holds {some}",
            wanted=f"a new or an empty one ({setting('out')})",
        )


def _exists(folder: Path) -> RunExists:
    return RunExists(
        f"{folder} holds a run already: continue it with {setting('resume')}, "
        "or choose another folder"
    )


def _spent(session: int, totals: Totals) -> tuple[Any, ...]:
    """The row of a session."""
    seconds = map(float, (totals.wall_s, totals.agent_s, totals.environment_s))
    row = (session, *seconds, totals.executed)
    return (*row, tables.digest_of_row(*row))
