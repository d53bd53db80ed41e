"""Ledgers changed on purpose, with digests that fit: as if that had been written."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from itertools import groupby
from pathlib import Path

from reglue_bench.run_folder import LEDGER
from reglue_bench.runs.ledger import tables


def change_fact(folder: Path, name: str, value: str) -> None:
    """Has the run be begun with another value."""
    with closing(sqlite3.connect(folder / LEDGER)) as connection, connection:
        connection.execute("UPDATE about SET value = ? WHERE name = ?", (value, name))
        facts = dict(connection.execute("SELECT name, value FROM about WHERE name != 'digest'"))
        digest = (tables.digest_of_facts(facts),)
        connection.execute("UPDATE about SET value = ? WHERE name = 'digest'", digest)


def seal(folder: Path) -> None:
    """Makes the digests of all tries anew, from their rows and blobs."""
    with closing(sqlite3.connect(folder / LEDGER)) as connection, connection:
        for table in ("actions", "rewards"):
            for *key, blob in connection.execute(f"SELECT * FROM {table}").fetchall():
                connection.execute(
                    f"UPDATE outcome SET {table} = ? WHERE unit = ? AND attempt = ? AND k = ?",
                    (tables.digest_of_blob(blob), *key),
                )
        query = "SELECT * FROM outcome ORDER BY unit, attempt, k"
        for key, rows in groupby(connection.execute(query).fetchall(), key=lambda row: row[:2]):
            written = [(*row[:4], bool(row[4]), *row[5:]) for row in rows]
            digest = tables.digest_of_rows(written)
            where = "WHERE unit = ? AND attempt = ?"
            connection.execute(f"UPDATE try SET digest = ? {where}", (digest, *key))
