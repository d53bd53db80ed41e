"""Snapshots of states and random seeds, kept by the glue and named by keys."""

from __future__ import annotations

import re
import secrets
from collections import OrderedDict

from reglue.errors import OutOfDomain, UnknownKey

MOST_KEYS = 4096
"""Kept at once; the oldest are dropped."""

MOST_BYTES = 256 * 1024 * 1024
"""Bytes of all snapshots that are kept at once; the oldest are dropped."""

STATE, SEED = "state", "seed"
"""The two kinds."""

_WORDS = {STATE: "a state", SEED: "a random seed"}


class SnapshotKeys:
    """Keeps snapshots under keys that no other store gives out."""

    def __init__(self, *, most_keys: int = MOST_KEYS, most_bytes: int = MOST_BYTES) -> None:
        self._most_keys = most_keys
        self._most_bytes = most_bytes
        self._kept: OrderedDict[str, bytes] = OrderedDict()  # the oldest first
        self._bytes = 0
        self._given = 0
        self._token = secrets.token_hex(8)

    def keep(self, kind: str, snapshot: bytes) -> str:
        """A new key. Raises OutOfDomain for a snapshot that exceeds the limit on its own."""
        if len(snapshot) > self._most_bytes:
            raise OutOfDomain(
                got=f"{_WORDS[kind]} of {len(snapshot)} bytes", wanted=f"at most {self._most_bytes}"
            )
        self._given += 1
        key = f"{kind}-{self._given}-{self._token}"
        self._kept[key] = snapshot
        self._bytes += len(snapshot)
        while len(self._kept) > self._most_keys or self._bytes > self._most_bytes:
            _, dropped = self._kept.popitem(last=False)
            self._bytes -= len(dropped)
        return key

    def snapshot(self, kind: str, key: str) -> bytes:
        """The snapshot of a key. Raises UnknownKey."""
        known = re.fullmatch(rf"({STATE}|{SEED})-([1-9][0-9]{{0,17}})-{self._token}", key)
        if known is None or int(known[2]) > self._given:
            raise UnknownKey(got=f"the key {key[:80]!r}", wanted="one that this glue gave out")
        if known[1] != kind:
            raise UnknownKey(got=f"the key of {_WORDS[known[1]]}", wanted=f"that of {_WORDS[kind]}")
        if key not in self._kept:
            raise UnknownKey(
                got=f"the key of {_WORDS[kind]} that is not kept any more",
                wanted=f"a later one: the last {self._most_keys}, of {self._most_bytes} bytes "
                "together, are kept",
            )
        return self._kept[key]
