"""Reads a run's ledger and checks it."""

from __future__ import annotations

import contextlib
import shutil
import sqlite3
import tempfile
import zlib
from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass, fields
from itertools import groupby
from pathlib import Path
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from glue_server import Order, Outcome
from reglue.errors import UsageError
from reglue_bench.run_folder import LEDGER
from reglue_bench.runs.ledger import tables
from reglue_bench.runs.ledger.storage import (
    CANNOT_SHARE,
    code_of,
    damaged,
    opened,
    table_names,
    translating_errors,
)

FORMAT = 7
"""The version of ledgers; another if their tables, or the plan in them, have other fields."""

AGENT_NAME = "agent name"
"""Entry of `about`: the agent's own name."""

SESSIONS = "sessions"
"""Entry of `about`: how many processes have written to the run."""

ISOLATION = "isolation "
"""Begins entries of `about`: one for each kind that there was."""

MACHINE = "machine of "
"""Begins entries of `about`: on which machine all agents played, or each where one was chosen."""

ENVIRONMENTS = "environments on "
"""Begins entries of `about`: each machine of environments, where a cluster chose it."""

PLAYED_IN = "environments in "
"""Begins entries of `about`: in which processes environments were, as this process knows them."""

EVENT = "event: "
"""Begins entries of `about`: how often something happened that a reader of the score should know.
"""

ENDED_EARLY = "ended early"
"""Entry of `about`: why the last session left something to play; empty if it did not end so."""

REPEATS = "repeats"
"""Entry of `about`: what came of playing an episode again, as JSON."""

PARAMETERS = "parameters of the object"
"""Entry of `about`: the digests of an agent object's parameters, as JSON."""

DIGEST = "digest"  # entry of the table `about`, over the others


@dataclass(frozen=True, slots=True)
class Row:
    """The outcome of one cell, as kept: the columns of its table."""

    unit: int
    attempt: int
    k: int
    status: str
    success: bool
    first_success: int
    return_: float
    steps: int
    clipped: int
    defaulted: int
    detail: str


_COLUMNS = [each.name for each in fields(Row)]  # of `outcome`; the digests of blobs follow
_SUCCESS = _COLUMNS.index("success")


@dataclass(frozen=True, slots=True)
class Totals:
    """Time and steps of a session, or of all."""

    wall_s: float = 0.0
    agent_s: float = 0.0
    environment_s: float = 0.0
    executed: int = 0  # environment steps simulated


class LedgerReader:
    """A run's ledger as it was at one moment, also while the run goes on; writes nothing.

    A context manager that closes it. Every method raises RunDamaged if the file was changed or
    damaged, and StorageFailed if it cannot be read.
    """

    def __init__(self, folder: Path) -> None:
        """Open the ledger of a run's folder. Raises UsageError (RunDamaged, RunBusy)."""
        self._folder = check_there(folder)
        self._closing = ExitStack()
        try:
            with translating_errors(folder):
                self._connection = self._closing.enter_context(self._connected())
            check_holds_run(self._connection, folder)
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Release the file."""
        self._closing.close()

    @property
    def folder(self) -> Path:
        """The run's."""
        return self._folder

    @property
    def about(self) -> dict[str, str]:
        """The facts with which the run was begun."""
        with self._reading() as connection:
            return facts(connection, self._folder)

    def totals(self) -> Totals:
        """Summed over the sessions."""
        with self._reading() as connection:
            known = facts(connection, self._folder).get(SESSIONS, "0")
            rows = connection.execute("SELECT * FROM session ORDER BY id").fetchall()
        if len(rows) != int(known):
            raise damaged(self._folder, f"got {len(rows)} sessions' totals, wanted {known}")
        for *values, digest in rows:
            if tables.digest_of_row(*values) != digest:
                raise damaged(self._folder, f"the totals of session {values[0]} have changed")
        return Totals(*(sum(row[column] for row in rows) for column in range(1, 5)))

    def rows(self) -> Iterator[Row]:
        """The last try of every unit, in the order of units and cells.

        Read some at a time, so that any number of units takes the same memory.
        """
        with self._reading() as connection:
            written = connection.execute(_LAST_TRIES)
            rows = map(_with_bool, connection.execute(_LAST_OUTCOMES))
            for (unit, attempt), each in groupby(rows, key=lambda row: row[:2]):
                unit_rows, wanted = list(each), next(written, None)
                if wanted != (unit, attempt, tables.digest_of_rows(unit_rows)):
                    at = unit if wanted is None else wanted[0]
                    what = f"got the rows of unit {unit}, wanted those of unit {at}, unchanged"
                    raise damaged(self._folder, what)
                for row in unit_rows:
                    yield Row(*row[: len(_COLUMNS)])
            if (lost := next(written, None)) is not None:
                raise damaged(self._folder, f"the rows of unit {lost[0]} are missing")

    def begun(self) -> dict[int, int]:
        """The units that are in play, or were when their session was killed, and which try of each.

        A process that is killed within 0.1 s of a unit's beginning leaves no record of it.
        """
        with self._reading() as connection:
            rows = connection.execute("SELECT unit, attempt, digest FROM begun").fetchall()
        for unit, attempt, digest in rows:
            if tables.digest_of_row(unit, attempt) != digest:
                raise damaged(self._folder, f"the try of unit {unit} has changed")
        return {unit: attempt for unit, attempt, _ in rows}

    def actions(self, unit: int, attempt: int, k: int) -> bytes:
        """All actions of an episode, encoded. Raises KeyError if it was not played."""
        with self._reading() as connection:
            blobs = _blobs(connection, "actions", unit, attempt, k)
        if k not in blobs:
            raise KeyError((unit, attempt, k))
        return self._unpacked(*blobs[k], f"the actions of episode {k} of unit {unit}")

    def rewards(self, unit: int, attempt: int, k: int | None = None) -> npt.NDArray[np.float64]:
        """The stored rewards, step by step, of a try's episodes, or of its episode k: (steps,)."""
        with self._reading() as connection:
            blobs = _blobs(connection, "rewards", unit, attempt, k)
        parts = [
            self._unpacked(digest, blob, f"the rewards of episode {k} of unit {unit}")
            for k, (digest, blob) in blobs.items()
            if digest or blob
        ]
        return np.frombuffer(b"".join(parts), "<f8")

    def outcome(self, row: Row, order: Order) -> Outcome:
        """The outcome of a row, as it was recorded. Raises KeyError if it was not."""
        key = (row.unit, row.attempt, row.k)
        same = {name: getattr(row, name) for name in _COLUMNS[3:]}
        actions, rewards = self.actions(*key), self.rewards(*key).tobytes()
        return Outcome(order, **same, actions=actions, rewards=rewards)

    def _unpacked(self, digest: bytes, blob: bytes | None, what: str) -> bytes:
        if blob is None or tables.digest_of_blob(blob) != digest:
            raise damaged(self._folder, f"{what} have changed")
        return zlib.decompress(blob)

    def _reading(self) -> AbstractContextManager[sqlite3.Connection]:
        """A connection to read with."""
        return _as_ours(self._connection, self._folder)

    @contextmanager
    def _connected(self) -> Iterator[sqlite3.Connection]:
        """A connection with one transaction, which reads one state of the database.

        Where the writer was killed and the folder cannot be written to, that of a copy.
        """
        with ExitStack() as closing:
            try:
                connection = _moment(self._folder, closing)
            except sqlite3.OperationalError as error:
                if code_of(error) not in CANNOT_SHARE:
                    raise
                copy = closing.enter_context(tempfile.TemporaryDirectory(prefix="reglue-"))
                for file in self._folder.glob(f"{LEDGER}*"):
                    shutil.copyfile(file, Path(copy) / file.name)
                connection = _moment(Path(copy), closing)
            yield connection


def check_there(folder: Path) -> Path:
    """The folder. Raises UsageError unless it holds a ledger, or what is called so."""
    if (folder / LEDGER).is_dir():
        raise UsageError(f"{folder} holds no run: {LEDGER} is a folder, wanted a file")
    if not folder.exists():
        raise UsageError(f"no such folder: {folder}")
    if not folder.is_dir():
        raise UsageError(
            got=f"the file {folder}", wanted=f"a run's folder, such as {folder.parent}"
        )
    if not (folder / LEDGER).is_file():
        raise UsageError(f"{folder} holds no run: there is no {LEDGER}")
    return folder


def check_holds_run(connection: sqlite3.Connection, folder: Path) -> None:
    """Raise UsageError for a ledger of another version, or in which no run was begun."""
    with translating_errors(folder):
        is_there = bool(table_names(connection))
        entries = dict(connection.execute("SELECT name, value FROM about")) if is_there else {}
    if not entries:
        raise UsageError(
            f"{folder} holds no run: it was interrupted before it began (begin it again, by "
            f"`reglue bench … --out {folder}`), or {LEDGER} was copied without {LEDGER}-wal, which "
            "holds the last writes of a run in progress, or of a killed one (copy both)"
        )
    if entries.get("format") != str(FORMAT):
        raise UsageError(
            folder,
            got=f"ledger format {entries.get('format')}",
            wanted=f"{FORMAT}: it was written by another version of reglue, or is damaged",
        )
    facts(connection, folder)


def facts(connection: sqlite3.Connection, folder: Path) -> dict[str, str]:
    """The facts about its run in a ledger. Raises RunDamaged."""
    entries: dict[str, str] = dict(connection.execute("SELECT name, value FROM about"))
    digest = entries.pop(DIGEST, None)
    if digest != tables.digest_of_facts(entries):
        raise damaged(folder, "what the run began with (its plan, settings or agent) has changed")
    return entries


def _moment(folder: Path, closing: ExitStack) -> sqlite3.Connection:
    connection = closing.enter_context(contextlib.closing(opened(folder, mode="ro")))
    connection.execute("BEGIN")
    connection.execute("SELECT count(*) FROM sqlite_master").fetchone()  # the moment is now
    return connection


@contextmanager
def _as_ours(connection: sqlite3.Connection, folder: Path) -> Iterator[sqlite3.Connection]:
    with translating_errors(folder):
        yield connection


_LAST_TRIES, _LAST_OUTCOMES = (
    f"""
    SELECT * FROM {table} AS one
    WHERE attempt = (SELECT max(attempt) FROM {table} WHERE unit = one.unit)
    ORDER BY {key}
    """
    for table, key in (("try", "unit"), ("outcome", "unit, k"))
)


def _with_bool(row: tuple[Any, ...]) -> tuple[Any, ...]:
    """The row with `success` as a bool, for which SQLite has no type."""
    return (*row[:_SUCCESS], bool(row[_SUCCESS]), *row[_SUCCESS + 1 :])


def _blobs(
    connection: sqlite3.Connection, table: str, unit: int, attempt: int, k: int | None = None
) -> dict[int, tuple[bytes, bytes | None]]:
    """The digest and the blob of each episode of a try, or of one, by k."""
    query = f"""
    SELECT k, outcome.{table}, zlib FROM outcome LEFT JOIN {table} USING (unit, attempt, k)
    WHERE unit = ? AND attempt = ? AND k = coalesce(?, k) ORDER BY k
    """
    return {k: (digest, blob) for k, digest, blob in connection.execute(query, (unit, attempt, k))}
