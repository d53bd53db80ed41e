"""The tables of a ledger, and the digests in them, with which its reader detects changes.

Columns say their unit; a row of `outcome` is one cell's try. Digests are BLAKE2b's of 16 bytes,
over what is named beside them. A row of an outcome holds those of its blobs, each try that of its
rows, so that rows can be checked without their blobs; `about` has one of all facts.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping

import sqlalchemy as sa


def _keys(*names: str) -> list[sa.Column[int]]:
    return [sa.Column(name, sa.Integer, primary_key=True) for name in names]


TABLES = sa.MetaData()
about = sa.Table(
    "about",
    TABLES,
    sa.Column("name", sa.Text, primary_key=True),
    sa.Column("value", sa.Text, nullable=False),
)
tries = sa.Table(
    "try",
    TABLES,
    *_keys("unit", "attempt"),
    sa.Column("digest", sa.LargeBinary, nullable=False),  # of its rows of `outcome`, by k
    sqlite_with_rowid=False,
)
begun = sa.Table(
    "begun",
    TABLES,
    sa.Column("unit", sa.Integer, primary_key=True),  # that is in play, or was when a session died
    sa.Column("attempt", sa.Integer, nullable=False),
    sa.Column("digest", sa.LargeBinary, nullable=False),  # of the row
    sqlite_with_rowid=False,
)
outcomes = sa.Table(
    "outcome",
    TABLES,
    *_keys("unit", "attempt", "k"),
    sa.Column("status", sa.Text, nullable=False),
    sa.Column("success", sa.Boolean, nullable=False),
    sa.Column("first_success", sa.Integer, nullable=False),
    sa.Column("return", sa.Double, nullable=False),
    sa.Column("steps", sa.Integer, nullable=False),
    sa.Column("clipped", sa.Integer, nullable=False),
    sa.Column("defaulted", sa.Integer, nullable=False),
    sa.Column("detail", sa.Text, nullable=False),
    sa.Column("actions", sa.LargeBinary, nullable=False),  # digest of the blob in `actions`
    sa.Column("rewards", sa.LargeBinary, nullable=False),  # of that in `rewards`; none: empty
    sqlite_with_rowid=False,
)
actions, rewards = (
    sa.Table(
        name,
        TABLES,
        *_keys("unit", "attempt", "k"),
        sa.Column("zlib", sa.LargeBinary, nullable=False),
    )
    for name in ("actions", "rewards")
)
sessions = sa.Table(
    "session",
    TABLES,
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("wall_s", sa.Double, nullable=False),
    sa.Column("agent_s", sa.Double, nullable=False),
    sa.Column("environment_s", sa.Double, nullable=False),
    sa.Column("executed", sa.Integer, nullable=False),
    sa.Column("digest", sa.LargeBinary, nullable=False),  # of the row
)

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
