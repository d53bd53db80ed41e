"""The tables of the file, and what is wrong with one."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from reglue.errors import ReglueError, RunDamaged, StorageFailed, UsageError
from reglue_bench.runs.ledger import Row, tables
from reglue_bench.runs.ledger.storage import BUSY, DISK, code_of, sqlite_text, table_names

FORMAT = b"1"

TABLES = {
    "about": """(
        name TEXT NOT NULL PRIMARY KEY,
        value BLOB NOT NULL
    )""",
    "episode": """(
        unit INTEGER NOT NULL,
        k INTEGER NOT NULL,
        attempt INTEGER NOT NULL,
        number INTEGER NOT NULL, -- of its parts
        parts INTEGER NOT NULL,
        steps INTEGER NOT NULL,
        terminated BOOLEAN NOT NULL,
        truncated BOOLEAN NOT NULL,
        digest BLOB NOT NULL, -- of the row
        PRIMARY KEY (unit, k, attempt)
    )""",
    "part": """(
        number INTEGER NOT NULL,
        place INTEGER NOT NULL,
        zlib BLOB NOT NULL, -- see ObservedParts.take
        digest BLOB NOT NULL,
        PRIMARY KEY (number, place)
    )""",
}
"""Each table's name, and its columns."""


@dataclass(frozen=True, slots=True)
class ObservedEpisode:
    """An episode of the file: the columns of its table."""

    unit: int
    k: int
    attempt: int
    number: int
    parts: int
    steps: int
    terminated: bool  # by its last step
    truncated: bool


AnyRow = TypeVar("AnyRow", bound=Row)


def facts(connection: sqlite3.Connection, path: Path) -> dict[str, bytes]:
    """The facts about its run in the file. Raises UsageError for none, or another version's."""
    has_begun = "about" in table_names(connection)
    entries = dict(connection.execute("SELECT name, value FROM about")) if has_begun else {}
    if not entries:
        raise UsageError(f"{path.parent} holds no dataset: nothing was recorded yet")
    if entries.get("format") != FORMAT or not {"plan", "spec"} <= entries.keys():
        raise UsageError(
            path,
            got=f"format {entries.get('format', b'none').decode(errors='replace')}",
            wanted=(
                f"{FORMAT.decode()}: it was written by another version of reglue, or is damaged"
            ),
        )
    return entries


def matched(
    rows: Iterable[AnyRow], connection: sqlite3.Connection, path: Path
) -> Iterator[tuple[AnyRow | None, ObservedEpisode | None]]:
    """Rows of the ledger with their episodes; either may be missing."""
    observed = _in_order(connection, path)
    ahead = next(observed, None)
    for row in rows:
        episode: ObservedEpisode | None = None
        while ahead is not None and (ahead.unit, ahead.k) <= (row.unit, row.k):
            if (ahead.unit, ahead.k, ahead.attempt) == (row.unit, row.k, row.attempt):
                episode = ahead
            else:
                yield None, ahead
            ahead = next(observed, None)
        if episode is not None and episode.steps != row.steps:
            what = f"episode {row.k} of unit {row.unit} has {episode.steps} steps"
            raise damaged(path, f"{what}, in the ledger {row.steps}")
        yield row, episode
    while ahead is not None:
        yield None, ahead
        ahead = next(observed, None)


def without_row(
    rows: Iterable[Row], connection: sqlite3.Connection, path: Path
) -> Iterator[ObservedEpisode]:
    """Episodes that the ledger does not hold."""
    for row, episode in matched(rows, connection, path):
        if row is None and episode is not None:
            yield episode


def _in_order(connection: sqlite3.Connection, path: Path) -> Iterator[ObservedEpisode]:
    for *numbers, terminated, truncated, digest in connection.execute(
        "SELECT * FROM episode ORDER BY unit, k, attempt"
    ):
        row = (*numbers, bool(terminated), bool(truncated))
        episode = ObservedEpisode(*row)
        if tables.digest_of_row(*row) != digest:
            raise damaged(path, f"episode {episode.k} of unit {episode.unit} has changed")
        yield episode


@contextmanager
def translating_errors(path: Path) -> Iterator[None]:
    """SQLite's errors as ours: StorageFailed, RunDamaged."""
    try:
        yield
    except sqlite3.Error as error:
        raise _ours(path, error) from error
    except OSError as error:
        raise StorageFailed(f"{path} cannot be used: {error.strerror}") from error


def _ours(path: Path, error: BaseException | None) -> ReglueError:
    cause, code = sqlite_text(error), code_of(error)
    if code in DISK | BUSY:
        return StorageFailed(f"{path} cannot be used: {cause}")
    return damaged(path, cause)


def damaged(path: Path, what: str) -> RunDamaged:
    """The error that says so, and what to do."""
    return RunDamaged(
        f"{path} is damaged: {what}; take it from a copy, or delete it: what was recorded then "
        "counts as lost, and the run itself is whole"
    )
