"""The tables of the file, and what is wrong with one."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import sqlalchemy as sa

from reglue.errors import ReglueError, RunDamaged, StorageFailed, UsageError
from reglue_bench.runs.ledger import Row, tables
from reglue_bench.runs.ledger.storage import BUSY, DISK, code_of, sqlite_text

FORMAT = b"1"

_AT_ONCE = 200  # rows that are read

TABLES = sa.MetaData()
ABOUT = sa.Table(
    "about",
    TABLES,
    sa.Column("name", sa.Text, primary_key=True),
    sa.Column("value", sa.LargeBinary, nullable=False),
)
EPISODES = sa.Table(
    "episode",
    TABLES,
    *(sa.Column(name, sa.Integer, primary_key=True) for name in ("unit", "k", "attempt")),
    sa.Column("number", sa.Integer, nullable=False),  # of its parts
    sa.Column("parts", sa.Integer, nullable=False),
    sa.Column("steps", sa.Integer, nullable=False),
    sa.Column("terminated", sa.Boolean, nullable=False),
    sa.Column("truncated", sa.Boolean, nullable=False),
    sa.Column("digest", sa.LargeBinary, nullable=False),  # of the row
)
PARTS = sa.Table(
    "part",
    TABLES,
    *(sa.Column(name, sa.Integer, primary_key=True) for name in ("number", "place")),
    sa.Column("zlib", sa.LargeBinary, nullable=False),  # see ObservedParts.take
    sa.Column("digest", sa.LargeBinary, nullable=False),
)


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


_COLUMNS = len(ObservedEpisode.__dataclass_fields__)

AnyRow = TypeVar("AnyRow", bound=Row)


def facts(connection: sa.Connection, path: Path) -> dict[str, bytes]:
    """What the file says about its run. Raises UsageError if it says nothing, or is of another
    version."""
    has_begun = sa.inspect(connection).has_table(ABOUT.name)
    about = connection.execute(sa.select(ABOUT)).all() if has_begun else []
    entries = {row.name: row.value for row in about}
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
    rows: Iterable[AnyRow], connection: sa.Connection, path: Path
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
    rows: Iterable[Row], connection: sa.Connection, path: Path
) -> Iterator[ObservedEpisode]:
    """Episodes that the ledger does not hold."""
    for row, episode in matched(rows, connection, path):
        if row is None and episode is not None:
            yield episode


def _in_order(connection: sa.Connection, path: Path) -> Iterator[ObservedEpisode]:
    query = sa.select(EPISODES).order_by(*EPISODES.primary_key)
    for some in connection.execute(query).partitions(_AT_ONCE):
        for row in some:
            if tables.digest_of_row(*row[:_COLUMNS]) != row.digest:
                raise damaged(path, f"episode {row.k} of unit {row.unit} has changed")
            yield ObservedEpisode(*row[:_COLUMNS])


@contextmanager
def translating_errors(path: Path) -> Iterator[None]:
    """SQLite's errors as ours: StorageFailed, RunDamaged."""
    try:
        yield
    except sa.exc.DBAPIError as error:
        raise _ours(path, error.orig) from error.orig
    except sqlite3.Error as error:  # while it is opened
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
