"""The one process that writes a run's ledger.

A unit's outcomes are committed in one transaction, so that a crash at any point leaves whole
units. A unit's last complete try counts.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple, Self

import sqlalchemy as sa
from filelock import BaseFileLock, FileLock, Timeout
from sqlalchemy.dialects import sqlite

from glue_server import Outcome
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
    end_journal,
    opened,
    sqlite_text,
    translating_errors,
)

LOCK = "lock"


@dataclass(frozen=True, slots=True)
class Try:
    """The outcomes of a unit's `attempt`-th try."""

    attempt: int
    outcomes: Sequence[Outcome]  # what is not a list is in the order of k
    keeps_rewards: bool = True  # those that the outcomes hold

    @property
    def unit(self) -> int:
        """The unit's number."""
        return self.outcomes[0].order.unit


class Begun(NamedTuple):
    """A unit of which the `attempt`-th try begins."""

    unit: int
    attempt: int


class Ledger(LedgerReader):
    """A ledger open for writing; one process at a time.

    Every method that writes raises StorageFailed if the disk is full or gone.
    """

    _engine: sa.Engine
    _lock: BaseFileLock
    _wrote: bool  # there may be a journal
    _new: Sequence[Path]  # the folders that were made for it, the innermost first

    def __init__(self, folder: Path) -> None:
        """Continue the run in a folder. Raises UsageError (RunDamaged, RunBusy)."""
        self._open(check_there(folder), mode="rw")
        try:
            with self._reading() as connection:
                check_holds_run(connection, folder)
            self._begin_journal()
        except BaseException:
            self.close()
            raise

    @classmethod
    def create(cls, folder: Path, about: Mapping[str, str]) -> Self:
        """Begin a run in `folder`. Raises RunExists if there is one."""
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
        ledger._open(folder, mode="rwc")
        ledger._new = new
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
        if self._wrote:
            self._wrote = False
            self._engine.dispose()  # any other connection keeps the journal
            with suppress(sa.exc.SQLAlchemyError), self._engine.connect() as connection:
                end_journal(connection)
        self._engine.dispose()
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

    def begin_session(self) -> int:
        """Begin a session: this process writes. Returns the key of its totals."""
        with self._transaction() as connection:
            session = int(facts(connection, self._folder).get(SESSIONS, "0")) + 1
            self._set(connection, {SESSIONS: str(session), ENDED_EARLY: ""})
            _insert(connection, tables.sessions, [_spent(session, Totals())])
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
        written = _Written()
        for each in tries:
            if len(each.outcomes) <= _MANY:
                written.add(each)
        with self._transaction() as connection:
            for each in tries:
                if len(each.outcomes) > _MANY:
                    written.add(each, connection)
            written.insert(connection)
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

    def _open(self, folder: Path, *, mode: str) -> None:
        self._folder = folder
        self._new = [folder]
        self._wrote = False
        self._lock = FileLock(folder / LOCK, mode=0o600)
        try:
            self._lock.acquire(timeout=0)
        except Timeout as error:
            raise RunBusy(f"{folder}: another process is writing to this run") from error
        except (OSError, NotImplementedError) as error:
            raise UsageError(f"{folder} cannot be written to: {error}") from error
        self._engine = opened(folder, mode=mode)

    def _begin(self, about: Mapping[str, str]) -> None:
        (self._folder / LEDGER).touch(mode=0o600)  # SQLite's other files get the same rights
        with translating_errors(self._folder), self._engine.connect() as connection:
            names = set(sa.inspect(connection).get_table_names())
        # A process that died while it began left no row: there is no run yet.
        if names - tables.TABLES.tables.keys():
            raise damaged(self._folder, f"got the tables {', '.join(sorted(names))}")
        self._begin_journal()
        with self._transaction() as connection:
            tables.TABLES.create_all(connection)
            for table in (tables.about, tables.tries, tables.outcomes):
                if connection.execute(sa.select(table)).first():
                    raise _exists(self._folder)
            known = {"format": str(FORMAT)} | dict(about)
            known[DIGEST] = tables.digest_of_facts(known)
            _insert(connection, tables.about, [{"name": n, "value": v} for n, v in known.items()])

    def _begin_journal(self) -> None:
        self._wrote = True
        with translating_errors(self._folder), self._engine.connect() as connection:
            begin_journal(connection, self._folder)

    def _reading(self) -> AbstractContextManager[sa.Connection]:
        return _connected(self._engine, self._folder)

    @contextmanager
    def _transaction(self) -> Iterator[sa.Connection]:
        with translating_errors(self._folder), uninterrupted(), self._engine.begin() as connection:
            yield connection

    def _set(self, connection: sa.Connection, new: dict[str, str]) -> None:
        """Change an entry of `about`, and its digest."""
        known = facts(connection, self._folder) | new
        for name, text in {**new, DIGEST: tables.digest_of_facts(known)}.items():
            row = sqlite.insert(tables.about).values(name=name, value=text)
            connection.execute(row.on_conflict_do_update(["name"], set_={"value": text}))

    @staticmethod
    def _begin_and_end(
        connection: sa.Connection, begun: Sequence[Begun], tries: Sequence[Try]
    ) -> None:
        """Take down which units are in play."""
        over = {each.unit for each in tries}
        if over:
            ended = sa.delete(tables.begun).where(tables.begun.c.unit == sa.bindparam("over"))
            connection.execute(ended, [{"over": unit} for unit in over])
        rows = [
            each._asdict() | {"digest": tables.digest_of_row(*each)}
            for each in begun
            if each.unit not in over
        ]
        if rows:
            connection.execute(sqlite.insert(tables.begun).prefix_with("OR REPLACE"), rows)

    @staticmethod
    def _spend(connection: sa.Connection, session: int, totals: Totals) -> None:
        of_session = sa.update(tables.sessions).where(tables.sessions.c.id == session)
        connection.execute(of_session.values(_spent(session, totals)))


_MANY = 1000
"""Outcomes of a try that are made rows all at once; of more, some at a time."""


class _Written:
    """Rows of tries, as they are inserted."""

    def __init__(self) -> None:
        self._rows: dict[sa.Table, list[dict[str, object]]] = {
            table: [] for table in (tables.outcomes, tables.actions, tables.rewards, tables.tries)
        }

    def add(self, each: Try, connection: sa.Connection | None = None) -> None:
        """Add all episodes of a try, and their digest.

        With a connection rows are inserted a few at a time, so that any number takes the same
        memory.
        """
        digest = tables.digest_of_rows(row.values() for row in self._added(each, connection))
        key = {"unit": each.unit, "attempt": each.attempt}
        self._rows[tables.tries].append(key | {"digest": digest})

    def insert(self, connection: sa.Connection) -> None:
        """Into their tables."""
        for table, rows in self._rows.items():
            if rows:
                _insert(connection, table, rows)
            rows.clear()

    def _added(self, each: Try, connection: sa.Connection | None) -> Iterator[Mapping[str, object]]:
        is_long = connection is not None
        in_order = is_long and not isinstance(each.outcomes, list)  # and not to be held at once
        by_k = each.outcomes if in_order else sorted(each.outcomes, key=lambda of: of.order.k)
        for outcome in by_k:
            yield self._add(each, outcome)
            if connection is not None and len(self._rows[tables.outcomes]) >= _MANY:
                self.insert(connection)

    def _add(self, each: Try, outcome: Outcome) -> dict[str, object]:
        key = {"unit": outcome.order.unit, "attempt": each.attempt, "k": outcome.order.k}
        blobs = {tables.actions: zlib.compress(outcome.actions), tables.rewards: b""}
        if outcome.rewards and each.keeps_rewards:
            blobs[tables.rewards] = zlib.compress(outcome.rewards)
        # As SQLite gives them back: a float where one is wanted, and no sign of zero.
        row = key | {
            "status": outcome.status,
            "success": bool(outcome.success),
            "first_success": outcome.first_success,
            "return": float(outcome.return_) + 0.0,
            "steps": outcome.steps,
            "clipped": outcome.clipped,
            "defaulted": outcome.defaulted,
            "detail": outcome.detail,
            "actions": tables.digest_of_blob(blobs[tables.actions]),
            "rewards": tables.digest_of_blob(blobs[tables.rewards]),
        }
        self._rows[tables.outcomes].append(row)
        for table, blob in blobs.items():
            if blob:
                self._rows[table].append(key | {"zlib": blob})
        return row


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


@contextmanager
def _connected(engine: sa.Engine, folder: Path) -> Iterator[sa.Connection]:
    with translating_errors(folder), engine.connect() as connection:
        yield connection


def _insert(
    connection: sa.Connection, table: sa.Table, rows: Iterable[Mapping[str, object]]
) -> None:
    connection.execute(sa.insert(table), list(rows))


def _spent(session: int, totals: Totals) -> dict[str, object]:
    """The row of a session."""
    seconds = map(float, (totals.wall_s, totals.agent_s, totals.environment_s))
    values = (session, *seconds, totals.executed)
    names = [column.name for column in tables.sessions.columns]
    return dict(zip(names, (*values, tables.digest_of_row(*values)), strict=True))
