"""Digests with which a ledger's reader detects changes.

Facts have one, of all of them; so has each session. A row of an outcome holds the digests of
its blobs, and each try that of its rows, so that rows can be checked without their blobs.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping

_BYTES = 16
_as_text = json.JSONEncoder(default=bytes.hex, check_circular=False).encode


def of_blob(blob: bytes) -> bytes:
    """The digest of stored actions or rewards; empty for none."""
    return hashlib.blake2b(blob, digest_size=_BYTES).digest() if blob else b""


def of_row(*values: object) -> bytes:
    """The digest of a row of numbers and text."""
    return of_rows([values])


def of_rows(rows: Iterable[Iterable[object]]) -> bytes:
    """The digest of rows in their order: numbers, text, and digests of blobs."""
    digest = hashlib.blake2b(digest_size=_BYTES)
    for row in rows:
        digest.update(_as_text([*row]).encode())
    return digest.digest()


def of_facts(facts: Mapping[str, str]) -> str:
    """The digest, hexadecimal, of the facts with which a run began."""
    return of_rows(sorted(facts.items(), key=str)).hex()
