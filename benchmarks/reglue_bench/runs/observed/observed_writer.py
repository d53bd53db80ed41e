"""Writes the file."""

from __future__ import annotations

import os
import sqlite3
import zlib
from collections.abc import Mapping, Sequence
from contextlib import closing, suppress
from itertools import count
from typing import Any

from glue_server import Outcome
from reglue.errors import PlanDiffers, ReglueError, StorageFailed
from reglue.spec import TaskSpec
from reglue.wire.spec_encoding import spec_to_bytes
from reglue_bench.run_folder import OBSERVED
from reglue_bench.runs.ledger import LedgerReader, Try, tables
from reglue_bench.runs.ledger.storage import insert, make_tables, opened, transaction
from reglue_bench.runs.observed.observed_storage import (
    FORMAT,
    TABLES,
    facts,
    translating_errors,
    without_row,
)

RESERVE_BYTES = 16 * 1024 * 1024
"""Free bytes of the disk that are left to the ledger, whose rows are small."""

_COMPRESSION = 1  # zlib's level: fast


class ObservedWriter:
    """Writes the file, in the thread of a run's Recorder."""

    def __init__(self, ledger: LedgerReader, spec: TaskSpec, plan_sha256: str) -> None:
        """Begin the file beside a ledger that is open for writing, or continue it.

        What the ledger does not hold is deleted. Raises PlanDiffers for the file of another run,
        RunDamaged, and StorageFailed if it cannot be written at all.
        """
        folder = ledger.folder
        self._path = folder / OBSERVED
        self._lost: set[int] = set()  # numbers of episodes of which a part is lost
        self.failure: str | None = None  # the text of the first one
        about = {
            "format": FORMAT,
            "plan": plan_sha256.encode(),
            "spec": spec_to_bytes(spec.with_slots(1)),
        }
        with translating_errors(self._path):
            self._path.touch(mode=0o600)
            self._connection = opened(folder, mode="rw", file=OBSERVED, synchronous="NORMAL")
            try:
                first = self._begin(about, ledger)
            except BaseException:
                self._connection.close()
                raise
        self._numbers = count(first)

    def next_number(self) -> int:
        """The number of an episode that begins; it is unique in the file."""
        return next(self._numbers)

    def write(self, parts: Sequence[tuple[int, int, bytes]], tries: Sequence[Try]) -> None:
        """Write parts (number, place, rows) and the episodes of tries, in one transaction.

        What cannot be written is lost to the dataset, and `failure` says why.
        """
        ended = [(each.attempt, outcome) for each in tries for outcome in each.outcomes]
        try:
            self._check_room(sum(len(rows) for _, _, rows in parts))
            episodes = [each for each in ended if _number(each[1]) not in {None, *self._lost}]
            with translating_errors(self._path), transaction(self._connection):
                insert(self._connection, "part", [_part(*each) for each in parts])
                insert(self._connection, "episode", [_episode(*each) for each in episodes])
        except (ReglueError, OSError) as error:
            self.failure = self.failure or str(error)
            self._lost.update(number for number, _, _ in parts)
        self._lost.difference_update(_number(outcome) or 0 for _, outcome in ended)

    def close(self) -> None:
        """Leave a single file."""
        with closing(self._connection), suppress(sqlite3.Error):
            self._connection.execute("PRAGMA busy_timeout=0")
            self._connection.execute("PRAGMA journal_mode=DELETE")

    def _begin(self, about: Mapping[str, bytes], ledger: LedgerReader) -> int:
        """Check or make the tables, and delete what does not count. Returns the next number."""
        connection = self._connection
        connection.execute("PRAGMA journal_mode=WAL")
        with transaction(connection):
            make_tables(connection, TABLES)
            if not connection.execute("SELECT 1 FROM about").fetchone():
                insert(connection, "about", [*about.items()])
                return 1
            self._check_same(facts(connection, self._path), about)
            for each in list(without_row(ledger.rows(), connection, self._path)):
                connection.execute(
                    "DELETE FROM episode WHERE unit = ? AND k = ? AND attempt = ?",
                    (each.unit, each.k, each.attempt),
                )
            connection.execute("DELETE FROM part WHERE number NOT IN (SELECT number FROM episode)")
            (last,) = connection.execute("SELECT max(number) FROM episode").fetchone()
            return 1 + (last or 0)

    def _check_same(self, stored: Mapping[str, bytes], wanted: Mapping[str, bytes]) -> None:
        differ = [name for name, value in wanted.items() if stored[name] != value]
        if differ:
            raise PlanDiffers(
                f"{self._path} was recorded by another run: its {' and '.join(differ)} differ; "
                "put this run's own file there, or delete it: what was recorded then counts as lost"
            )

    def _check_room(self, wanted: int) -> None:
        disk = os.statvfs(self._path.parent)
        free = disk.f_bavail * disk.f_frsize
        if free - wanted < RESERVE_BYTES:
            raise StorageFailed(
                f"{self._path}: the disk has {free:,} bytes left, of which {RESERVE_BYTES:,} are "
                "kept for the ledger"
            )


def _number(outcome: Outcome) -> int | None:
    """The number of an episode with steps."""
    return outcome.observed.number if outcome.observed is not None and outcome.steps else None


def _part(number: int, place: int, rows: bytes) -> tuple[Any, ...]:
    blob = zlib.compress(rows, _COMPRESSION)
    return (number, place, blob, tables.digest_of_blob(blob))


def _episode(attempt: int, outcome: Outcome) -> tuple[Any, ...]:
    observed = outcome.observed
    assert observed is not None
    row = (
        outcome.order.unit,
        outcome.order.k,
        attempt,
        observed.number,
        observed.parts,
        outcome.steps,
        observed.terminated,
        observed.truncated,
    )
    return (*row, tables.digest_of_row(*row))
