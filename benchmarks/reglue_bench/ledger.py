"""A run's ledger: one SQLite file, durable row by row, with one writer.

A unit's outcomes are committed in one transaction, so that whatever dies between
two lines leaves whole units behind. Its last complete try is what counts.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import numpy as np
import numpy.typing as npt
import sqlalchemy as sa
from filelock import FileLock, Timeout
from sqlalchemy.dialects import sqlite

from glue_server import Outcome
from glue_server.interrupts import uninterrupted
from reglue.errors import RunBusy, RunExists, UsageError
from reglue_bench import tables

FILE = "ledger.sqlite"
FORMAT = 2
_AT_ONCE = 200  # rows that are read
_CACHE_KIB = 1024  # of pages: a long run fills it

AGENT_NAME = "agent name"
"""Entry of `about`: what the run's agent calls itself."""


@dataclass(frozen=True, slots=True)
class Row:
    """The outcome of one cell, as kept: the columns of its table."""

    unit: int
    attempt: int
    k: int
    status: str
    success: bool
    return_: float
    steps: int
    clipped: int
    detail: str


@dataclass(frozen=True, slots=True)
class Totals:
    """What a session, or all of them, spent."""

    wall_s: float = 0.0
    agent_s: float = 0.0
    environment_s: float = 0.0
    executed: int = 0  # environment steps simulated


@dataclass(frozen=True, slots=True)
class Try:
    """What came of a unit's `attempt`-th try."""

    attempt: int
    outcomes: Sequence[Outcome]


class Ledger:
    """An open ledger; a context manager that closes it and lets the next writer in."""

    def __init__(self, folder: Path) -> None:
        """Open the ledger of a run's folder. Raises UsageError, RunBusy."""
        if not (folder / FILE).is_file():
            raise UsageError(f"{folder} holds no run: there is no {FILE}")
        self._open(folder)
        try:
            found = self.about.get("format")
        except sa.exc.DatabaseError as error:
            self.close()
            raise UsageError(f"{folder / FILE} is not a ledger: {error.orig}") from error
        if found is None:
            self.close()
            raise UsageError(f"{folder} holds no run: it was interrupted before it began")
        if found != str(FORMAT):
            self.close()
            raise UsageError(
                f"{folder}: got ledger format {found}, wanted {FORMAT}: "
                "it was written by another version of reglue"
            )

    @classmethod
    def create(cls, folder: Path, about: Mapping[str, str]) -> Self:
        """Begin a run in `folder`. Raises RunExists if there is one."""
        try:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError as error:
            raise UsageError(f"{folder} cannot be made: {error}") from error
        ledger = cls.__new__(cls)
        ledger._open(folder)
        (folder / FILE).touch(mode=0o600)  # SQLite's other files get the same rights
        try:
            with _writing(folder):
                tables.TABLES.create_all(ledger._engine)
            with ledger._transaction() as connection:
                # A process that died here before left tables without a row: no run yet.
                if connection.execute(sa.select(tables.about)).first():
                    raise _exists(folder)
                rows = {"format": str(FORMAT)} | dict(about)
                _insert(
                    connection, tables.about, [{"name": n, "value": v} for n, v in rows.items()]
                )
        except BaseException:
            ledger.close()
            raise
        return ledger

    @classmethod
    def check_vacant(cls, folder: Path) -> None:
        """Raise RunExists or RunBusy if `create` would; for who waits before it creates."""
        try:
            cls(folder).close()
        except RunBusy:
            raise
        except UsageError:  # no run
            return
        raise _exists(folder)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Release the file and the lock."""
        self._engine.dispose()
        self._lock.release()

    def forget(self) -> None:
        """Close, and remove what `create` made: nothing was played."""
        self.close()
        for file in self._folder.glob(f"{FILE}*"):
            file.unlink()
        with suppress(OSError):  # other files are not ours
            (self._folder / "lock").unlink()
            self._folder.rmdir()

    @property
    def about(self) -> dict[str, str]:
        """What the run was begun with."""
        with self._transaction() as connection:
            return {row.name: row.value for row in connection.execute(sa.select(tables.about))}

    def name_agent(self, name: str) -> str:
        """What the run's agent calls itself: the first one to come names it."""
        self.note(AGENT_NAME, name)
        return self.about[AGENT_NAME]

    def note(self, name: str, value: str) -> None:
        """An entry of `about`, unless there is one of that name."""
        with self._transaction() as connection:
            row = {"name": name, "value": value}
            connection.execute(sqlite.insert(tables.about).values(row).on_conflict_do_nothing())

    def begin_session(self) -> int:
        """A process starts to write; the key of its totals."""
        with self._transaction() as connection:
            zero = {"wall_s": 0.0, "agent_s": 0.0, "environment_s": 0.0, "executed": 0}
            key = connection.execute(sa.insert(tables.sessions).values(zero)).inserted_primary_key
            assert key is not None
            return int(key[0])

    def record(self, tries: Sequence[Try], *, session: int, totals: Totals) -> None:
        """Commit tries of units, all at once, with their actions, and what the session has spent.

        Also with their rewards, where the outcomes hold any.
        """
        keyed = [
            ({"unit": o.order.unit, "attempt": each.attempt, "k": o.order.k}, o)
            for each in tries
            for o in each.outcomes
        ]
        rows = [key | _fields(o) for key, o in keyed]
        actions = [key | {"zlib": zlib.compress(o.actions)} for key, o in keyed]
        rewards = [key | {"zlib": zlib.compress(o.rewards)} for key, o in keyed if o.rewards]
        with self._transaction() as connection:
            _insert(connection, tables.outcomes, rows)
            _insert(connection, tables.actions, actions)
            if rewards:
                _insert(connection, tables.rewards, rewards)
            self._spend(connection, session, totals)

    def spend(self, session: int, totals: Totals) -> None:
        """Keep what a session has spent so far."""
        with self._transaction() as connection:
            self._spend(connection, session, totals)

    def totals(self) -> Totals:
        """Summed over the sessions."""
        columns = [tables.sessions.c[n] for n in ("wall_s", "agent_s", "environment_s", "executed")]
        sums = [sa.func.coalesce(sa.func.sum(column), 0) for column in columns]
        with self._transaction() as connection:
            wall_s, agent_s, environment_s, executed = connection.execute(sa.select(*sums)).one()
        return Totals(wall_s, agent_s, environment_s, executed)

    def rows(self) -> Iterator[Row]:
        """The last try of every unit, in the order of units and cells.

        Read some at a time, so that any number of them takes the same memory.
        """
        key, tries = sa.tuple_(*tables.outcomes.primary_key), tables.outcomes.alias()
        last = sa.select(sa.func.max(tries.c.attempt)).where(tries.c.unit == tables.outcomes.c.unit)
        query = (
            sa.select(tables.outcomes)
            .where(tables.outcomes.c.attempt == last.scalar_subquery())
            .order_by(*tables.outcomes.primary_key)
            .limit(_AT_ONCE)
        )
        after = (-1, 0, 0)
        while True:
            with self._transaction() as connection:
                found = connection.execute(query.where(key > after)).all()
            for row in found:
                yield Row(*row)
            if len(found) < _AT_ONCE:
                return
            after = tuple(found[-1][:3])

    def actions(self, unit: int, attempt: int, k: int) -> bytes:
        """Every action of an episode, as on the wire. Raises KeyError if it was not played."""
        key = tables.actions.c
        query = sa.select(key.zlib).where(key.unit == unit, key.attempt == attempt, key.k == k)
        with self._transaction() as connection:
            blob = connection.execute(query).scalar_one_or_none()
        if blob is None:
            raise KeyError((unit, attempt, k))
        return zlib.decompress(blob)

    def rewards(self, unit: int, attempt: int) -> npt.NDArray[np.float64]:
        """Every reward of a try, step by step over its episodes, shape (steps,)."""
        key = tables.rewards.c
        query = sa.select(key.zlib).where(key.unit == unit, key.attempt == attempt)
        with self._transaction() as connection:
            blobs = connection.execute(query.order_by(key.k)).scalars().all()
        return np.frombuffer(b"".join(zlib.decompress(blob) for blob in blobs), "<f8")

    def _open(self, folder: Path) -> None:
        self._folder = folder
        self._lock = FileLock(folder / "lock", mode=0o600)
        try:
            self._lock.acquire(timeout=0)
        except Timeout as error:
            raise RunBusy(f"{folder}: another process is writing to this run") from error
        except OSError as error:
            raise UsageError(f"{folder} cannot be written to: {error}") from error
        self._engine = sa.create_engine(sa.URL.create("sqlite", database=str(folder / FILE)))
        sa.event.listen(self._engine, "connect", _set_up)

    @contextmanager
    def _transaction(self) -> Iterator[sa.Connection]:
        with _writing(self._folder), uninterrupted(), self._engine.begin() as connection:
            yield connection

    @staticmethod
    def _spend(connection: sa.Connection, session: int, totals: Totals) -> None:
        spent = {
            "wall_s": totals.wall_s,
            "agent_s": totals.agent_s,
            "environment_s": totals.environment_s,
            "executed": totals.executed,
        }
        connection.execute(
            sa.update(tables.sessions).where(tables.sessions.c.id == session).values(spent)
        )


@contextmanager
def _writing(folder: Path) -> Iterator[None]:
    """A disk that is full, or gone, is told as what it is."""
    try:
        yield
    except sa.exc.OperationalError as error:
        raise UsageError(
            f"{folder} cannot be written to: {error.orig}; what was committed is kept, and "
            "--resume goes on with it"
        ) from error


def _exists(folder: Path) -> RunExists:
    return RunExists(
        f"{folder} holds a run already: continue it with --resume {folder}, "
        "or choose another folder"
    )


def _set_up(connection: Any, _record: object) -> None:
    connection.execute("PRAGMA journal_mode=WAL")
    connection.execute("PRAGMA synchronous=FULL")
    connection.execute(f"PRAGMA cache_size=-{_CACHE_KIB}")


def _insert(
    connection: sa.Connection, table: sa.Table, rows: Iterable[Mapping[str, object]]
) -> None:
    connection.execute(sa.insert(table), list(rows))


def _fields(outcome: Outcome) -> dict[str, object]:
    return {
        "status": outcome.status,
        "success": outcome.success,
        "return": outcome.return_,
        "steps": outcome.steps,
        "clipped": outcome.clipped,
        "detail": outcome.detail,
    }
