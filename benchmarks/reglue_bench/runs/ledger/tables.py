"""The tables of a ledger, and the digests in them, with which its reader detects changes.

Columns say their unit; a row of `outcome` is one cell's try. Digests are BLAKE2b's of 16 bytes,
over what is named beside them. A row of an outcome holds those of its blobs, each try that of its
rows, so that rows can be checked without their blobs; `about` has one of all facts.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping

_BLOBS = """(
        unit INTEGER NOT NULL,
        attempt INTEGER NOT NULL,
        k INTEGER NOT NULL,
        zlib BLOB NOT NULL,
        PRIMARY KEY (unit, attempt, k)
    )"""
TABLES = {
    "about": """(
        name TEXT NOT NULL PRIMARY KEY,
        value TEXT NOT NULL
    )""",
    "try": """(
        unit INTEGER NOT NULL,
        attempt INTEGER NOT NULL,
        digest BLOB NOT NULL, -- of its rows of `outcome`, by k
        PRIMARY KEY (unit, attempt)
    ) WITHOUT ROWID""",
    "begun": """(
        unit INTEGER NOT NULL PRIMARY KEY, -- that is in play, or was when a session died
        attempt INTEGER NOT NULL,
        digest BLOB NOT NULL -- of the row
    ) WITHOUT ROWID""",
    "outcome": """(
        unit INTEGER NOT NULL,
        attempt INTEGER NOT NULL,
        k INTEGER NOT NULL,
        status TEXT NOT NULL,
        success BOOLEAN NOT NULL,
        first_success INTEGER NOT NULL,
        return DOUBLE NOT NULL,
        steps INTEGER NOT NULL,
        clipped INTEGER NOT NULL,
        defaulted INTEGER NOT NULL,
        detail TEXT NOT NULL,
        actions BLOB NOT NULL, -- digest of the blob in `actions`
        rewards BLOB NOT NULL, -- of that in `rewards`; none: empty
        PRIMARY KEY (unit, attempt, k)
    ) WITHOUT ROWID""",
    "actions": _BLOBS,
    "rewards": _BLOBS,
    "session": """(
        id INTEGER NOT NULL PRIMARY KEY,
        wall_s DOUBLE NOT NULL,
        agent_s DOUBLE NOT NULL,
        environment_s DOUBLE NOT NULL,
        executed INTEGER NOT NULL,
        digest BLOB NOT NULL -- of the row
    )""",
}
"""Each table's name, and its columns."""

_DIGEST_BYTES = 16
_as_text = json.JSONEncoder(default=bytes.hex, check_circular=False).encode


def digest_of_blob(blob: bytes) -> bytes:
    """The digest of stored actions or rewards; empty for none."""
    return hashlib.blake2b(blob, digest_size=_DIGEST_BYTES).digest() if blob else b""


def digest_of_row(*values: object) -> bytes:
    """The digest of a row of numbers and text."""
    return digest_of_rows([values])


def digest_of_rows(rows: Iterable[Iterable[object]]) -> bytes:
    """The digest of rows in their order: numbers, text, and digests of blobs."""
    digest = hashlib.blake2b(digest_size=_DIGEST_BYTES)
    for row in rows:
        digest.update(_as_text([*row]).encode())
    return digest.digest()


def digest_of_facts(facts: Mapping[str, str]) -> str:
    """The digest, hexadecimal, of the facts with which a run began."""
    return digest_of_rows(sorted(facts.items(), key=str)).hex()
