"""Tries of units, and the rows that they are in a ledger's tables."""

from __future__ import annotations

import sqlite3
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

from glue_server import Outcome
from reglue_bench.runs.ledger import tables
from reglue_bench.runs.ledger.storage import insert

_LEVEL = 3
"""zlib's: its default takes up to four times as long, and makes actions 1 to 40 % smaller."""

_MANY = 1000
"""Outcomes of a try that are made rows all at once; of more, some at a time."""


@dataclass(frozen=True)
class Try:
    """The outcomes of a unit's `attempt`-th try."""

    attempt: int
    outcomes: Sequence[Outcome]  # what is not a list is in the order of k
    keeps_rewards: bool = True  # those that the outcomes hold

    @property
    def unit(self) -> int:
        """The unit's number."""
        return self.outcomes[0].order.unit

    @property
    def is_long(self) -> bool:
        """Whether its rows are made while they are inserted, some at a time."""
        return len(self.outcomes) > _MANY

    def prepared(self) -> Self:
        """Itself, with its rows made now, unless it is long."""
        if not self.is_long:
            _ = self.rows
        return self

    @cached_property
    def rows(self) -> Rows:
        """All of its rows, which are made at the first look."""
        rows = Rows()
        rows.add(self)
        return rows


class Rows:
    """Rows of tries, by table, that are still to be inserted."""

    def __init__(self) -> None:
        self._rows: dict[str, list[tuple[Any, ...]]] = {
            table: [] for table in ("outcome", "actions", "rewards", "try")
        }

    def add(self, each: Try, connection: sqlite3.Connection | None = None) -> None:
        """Add all episodes of a try, and their digest.

        With a connection rows are inserted a few at a time, so that any number takes the same
        memory.
        """
        digest = tables.digest_of_rows(self._added(each, connection))
        self._rows["try"].append((each.unit, each.attempt, digest))

    def join(self, others: Rows) -> None:
        """Add the rows of others."""
        for table, rows in others._rows.items():
            self._rows[table] += rows

    def insert(self, connection: sqlite3.Connection) -> None:
        """Into their tables."""
        for table, rows in self._rows.items():
            insert(connection, table, rows)
            rows.clear()

    def _added(self, each: Try, connection: sqlite3.Connection | None) -> Iterator[tuple[Any, ...]]:
        in_order = each.is_long and not isinstance(each.outcomes, list)  # not to be held at once
        by_k = each.outcomes if in_order else sorted(each.outcomes, key=lambda of: of.order.k)
        for outcome in by_k:
            yield self._add(each, outcome)
            if connection is not None and len(self._rows["outcome"]) >= _MANY:
                self.insert(connection)

    def _add(self, each: Try, outcome: Outcome) -> tuple[Any, ...]:
        key = (outcome.order.unit, each.attempt, outcome.order.k)
        blobs = {"actions": zlib.compress(outcome.actions, _LEVEL), "rewards": b""}
        if outcome.rewards and each.keeps_rewards:
            blobs["rewards"] = zlib.compress(outcome.rewards, _LEVEL)
        # As SQLite gives them back: a float where one is wanted, and no sign of zero.
        row = (
            *key,
            outcome.status,
            bool(outcome.success),
            outcome.first_success,
            float(outcome.return_) + 0.0,
            outcome.steps,
            outcome.clipped,
            outcome.defaulted,
            outcome.detail,
            *map(tables.digest_of_blob, blobs.values()),
        )
        self._rows["outcome"].append(row)
        for table, blob in blobs.items():
            if blob:
                self._rows[table].append((*key, blob))
        return row
