"""Keys are derived as RFC 2104 says."""

from __future__ import annotations

import hashlib
import hmac

import pytest

from reglue_bench.plans.keys import keyed_hash


@pytest.mark.parametrize("length", [0, 1, 32, 64, 65, 200])
def test_a_keyed_hash_is_hmac_sha256_for_keys_of_any_length(length: int) -> None:
    key = bytes(range(length))
    hashed = keyed_hash(key)
    for text in ("", "reglue start 3 0", "größer" * 100):
        assert hashed(text) == hmac.digest(key, text.encode(), hashlib.sha256)
