"""Transactions on SQLite and PostgreSQL, tried again while the database is away."""

from __future__ import annotations

import os
import secrets
import sqlite3
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from types import MappingProxyType
from typing import Any, TypeVar

import sqlalchemy as sa

from reglue.errors import StoreFailed, UnknownName, UsageError
from reglue.retrying import Backoff
from reglue_bench.runs.ledger.storage import BUSY, code_of, sqlite_text
from reglue_competition.store.schema import event_texts, events, teams

PATIENCE_S = 10.0

_SQLITE = "sqlite:///"  # and a path

_PAUSES = Backoff(0.05, factor=2.0, most_s=0.5)
_LOCK = 0x7265676C  # of PostgreSQL's advisory locks: held while a competition is written to
_AWAY = {*BUSY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_PROTOCOL}
_PASSING = ("08", "40", "53300", "55P03", "57")  # PostgreSQL's SQLSTATEs, or how they begin
_BEGINS = {  # dialect, whether it writes -> what begins a transaction besides the driver's own
    ("sqlite", False): "BEGIN",
    ("sqlite", True): "BEGIN IMMEDIATE",
    ("postgresql", True): f"SELECT pg_advisory_xact_lock({_LOCK})",
}

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Transaction:
    """A write transaction; no other one runs at the same time."""

    connection: sa.Connection
    operation: str  # its id, in the events that it notes
    at: datetime

    def note(
        self,
        kind: str,
        *,
        team: str | None = None,
        submission: str | None = None,
        run: int | None = None,
        texts: Mapping[str, str] = MappingProxyType({}),
        **detail: Any,
    ) -> None:
        """Add an event. Raises UnknownName.

        Args:
            kind: What happened.
            team: The name of the team that it is about.
            submission: The id of the submission that it is about.
            run: The index of the benchmark in its phase.
            texts: Of the detail, what people and programs wrote: it is forgotten with the team.
            detail: JSON; holds neither names nor such texts.
        """
        row = {"at": self.at, "kind": kind, "submission": submission, "run": run, "detail": detail}
        row |= {"team_id": self._team_id(team), "operation": self.operation}
        key = self.connection.execute(sa.insert(events).values(row)).inserted_primary_key
        if texts and key is not None:
            words = {"event_id": key[0], "texts": dict(texts)}
            self.connection.execute(sa.insert(event_texts).values(words))

    def _team_id(self, name: str | None) -> int | None:
        if name is None:
            return None
        of_name = sa.select(teams.c.id).where(teams.c.name == name)
        found: int | None = self.connection.scalar(of_name)
        if found is None:
            raise UnknownName("team", name, self.connection.scalars(sa.select(teams.c.name)))
        return found


class Database:
    """A competition's database, by its URL. May be used by several threads at once."""

    def __init__(
        self,
        url: str,
        *,
        patience_s: float = PATIENCE_S,
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
        creates: bool = False,
    ) -> None:
        """`patience_s`: how long an operation is tried again while the database is away.

        `creates` makes a missing SQLite file.
        """
        self._url = _parse_url(url)
        if creates and self._url.drivername == "sqlite":
            _create(Path(str(self._url.database)))
        self._patience_s = patience_s
        self._clock = clock
        self._engine = _engine(self._url, patience_s)

    def now(self) -> datetime:
        """The date of events."""
        return self._clock()

    def close(self) -> None:
        """Close its connections."""
        self._engine.dispose()

    @property
    def is_postgresql(self) -> bool:
        """Whether it is PostgreSQL; else it is SQLite."""
        return self._engine.dialect.name == "postgresql"

    @property
    def file(self) -> str | None:
        """SQLite's file; None of PostgreSQL."""
        return None if self.is_postgresql else self._url.database

    @property
    def public_url(self) -> str:
        """Its URL without the password."""
        return self._url.render_as_string(hide_password=True)

    def lasting_connection(self) -> sa.Connection:
        """A connection for as long as the caller wants it, in no transaction."""
        connection = self._engine.connect().execution_options(isolation_level="AUTOCOMMIT")
        connection.detach()  # so that it ends when it is closed
        return connection

    def read(self, work: Callable[[sa.Connection], T]) -> T:
        """Run `work` in a transaction that reads one consistent state. Raises StoreFailed."""
        level = {"isolation_level": "REPEATABLE READ"} if self.is_postgresql else {}
        return self.retried(lambda: self._once(work, level))

    def write(self, work: Callable[[Transaction], T]) -> T:
        """Run `work` in a write transaction, commit, and return its result.

        `work` is called again if the database went away in the middle. If it is unknown whether
        a commit arrived, the events tell: work that notes an event is committed once. Raises
        StoreFailed, and what `work` raises.
        """
        operation = secrets.token_hex(8)
        in_doubt: list[T] = []

        def once() -> T:
            def all_of_it(connection: sa.Connection) -> T:
                if in_doubt and _is_noted(connection, operation):
                    return in_doubt[-1]
                value = work(Transaction(connection, operation, self._clock()))
                # Before the commit: if its answer is lost, the next try finds the events, and
                # returns this value.
                in_doubt.append(value)
                return value

            return self._once(all_of_it, {"writes": True})

        return self.retried(once)

    def _once(self, work: Callable[[sa.Connection], T], options: Mapping[str, Any]) -> T:
        connection: sa.Connection
        with self._engine.connect().execution_options(**options) as connection:
            value = work(connection)
            connection.commit()
            return value

    def retried(self, once: Callable[[], T]) -> T:
        """Call it until the database is there. Raises StoreFailed, and what it raises else."""
        tries = _PAUSES.within(self._patience_s)
        while True:
            try:
                return once()
            except (sa.exc.IntegrityError, sa.exc.DataError):  # the caller's values, not the disk
                raise
            except (sa.exc.DBAPIError, sa.exc.TimeoutError, sqlite3.Error) as error:
                pause_s = tries.pause_s() if _passes(error) else None
                if pause_s is None:
                    raise self._failed(error) from error
            time.sleep(pause_s)

    def _failed(self, error: Exception) -> StoreFailed:
        cause, public = sqlite_text(getattr(error, "orig", None) or error), self.public_url
        if _passes(error):
            return StoreFailed(
                f"{public}: the database did not answer within {self._patience_s:g} s: {cause}; "
                "what was committed is kept"
            )
        return StoreFailed(
            f"{public}: the database refused: {cause}; what was committed is kept: make room, or "
            "repair it, and try again"
        )


def sqlite_url(file: Path) -> str:
    """The URL of a SQLite file."""
    return f"{_SQLITE}{file.absolute()}"


def read_only_uri(file: Path) -> str:
    """The URI to read a file with SQLite, also where it can write nothing beside it."""
    uri = f"{file.absolute().as_uri()}?mode=ro"
    is_alone = not file.with_name(f"{file.name}-wal").exists()
    return f"{uri}&immutable=1" if is_alone and not os.access(file.parent, os.W_OK) else uri


def _parse_url(url: str) -> sa.URL:
    """Raises UsageError."""
    wanted = "wanted sqlite:////FOLDER/FILE or postgresql://USER@HOST/DATABASE"
    if (path := url.removeprefix(_SQLITE)) not in ("", url):  # any path: `?` and `%` are its own
        return sa.URL.create("sqlite", database=path)
    try:
        parsed = sa.make_url(url)
    except sa.exc.ArgumentError as error:
        raise UsageError(f"got a database's URL that cannot be read, {wanted}") from error
    public = parsed.render_as_string(hide_password=True)
    if parsed.drivername in ("postgresql", "postgresql+psycopg"):
        return parsed.set(drivername="postgresql+psycopg")
    raise UsageError(f"got the database {public}, {wanted}")


def _create(file: Path) -> None:
    try:
        file.touch(mode=0o600)  # SQLite's other files get the same rights
    except OSError as error:
        raise UsageError(f"{file} cannot be made: {error.strerror}") from error


def _engine(url: sa.URL, patience_s: float) -> sa.Engine:
    if url.drivername == "sqlite":
        options: dict[str, Any] = {"creator": lambda: _sqlite(str(url.database), patience_s)}
    else:
        # Also of a database that was made without an encoding, whose text would be bytes.
        options = {"connect_args": {"client_encoding": "utf8", **_limits(patience_s)}}
    made = sa.create_engine(
        url, poolclass=sa.QueuePool, pool_timeout=patience_s, hide_parameters=True, **options
    )
    sa.event.listen(made, "begin", _begin)
    return made


def _sqlite(file: str, patience_s: float) -> sqlite3.Connection:
    path = Path(file).absolute()
    is_read_only = path.exists() and not os.access(path.parent, os.W_OK)
    connection = sqlite3.connect(
        # A file that is gone is not made anew.
        read_only_uri(path) if is_read_only else f"{path.as_uri()}?mode=rw",
        uri=True,
        timeout=patience_s,
        check_same_thread=False,
        isolation_level=None,
    )
    pragmas = (
        ()
        if is_read_only
        else (
            "journal_mode=WAL",
            "synchronous=FULL",
            "foreign_keys=ON",
            "secure_delete=ON",  # what is deleted is overwritten
        )
    )
    for pragma in pragmas:
        connection.execute(f"PRAGMA {pragma}")
    return connection


def _limits(patience_s: float) -> dict[str, Any]:
    """PostgreSQL's settings: every wait has a deadline, and a commit is on the disk."""
    most_ms = max(1, round(1000 * patience_s))
    settings = {
        "lock_timeout": most_ms,
        "statement_timeout": most_ms,
        "idle_in_transaction_session_timeout": 2 * most_ms,
        "synchronous_commit": "on",
        # So that a client whose machine has died holds no lock for long.
        "tcp_keepalives_idle": 10,  # seconds
        "tcp_keepalives_interval": 5,
        "tcp_keepalives_count": 3,
    }
    return {
        "connect_timeout": max(2, round(patience_s)),  # seconds; libpq's least is 2
        "tcp_user_timeout": most_ms,
        "options": " ".join(f"-c {name}={value}" for name, value in settings.items()),
    }


def _begin(connection: sa.Connection) -> None:
    writes = bool(connection.get_execution_options().get("writes"))
    if statement := _BEGINS.get((connection.dialect.name, writes)):
        connection.exec_driver_sql(statement)


def _is_noted(connection: sa.Connection, operation: str) -> bool:
    query = sa.select(events.c.id).where(events.c.operation == operation)
    return connection.execute(query.limit(1)).first() is not None


def _passes(error: Exception) -> bool:
    """Whether a retry may succeed."""
    if isinstance(error, sa.exc.TimeoutError):  # every connection of the pool is in use
        return True
    if isinstance(error, sa.exc.DBAPIError):
        if error.connection_invalidated:
            return True
        error = error.orig  # type: ignore[assignment]
    if (code := code_of(error)) is not None:
        return code in _AWAY
    state = getattr(error, "sqlstate", None)
    if state is not None:
        return str(state).startswith(_PASSING)
    return type(error).__name__ == "OperationalError"  # psycopg's, while it connects
