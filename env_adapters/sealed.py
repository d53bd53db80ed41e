"""Bytes that are kept, such as states: marked, and damage is noticed."""

from __future__ import annotations

import hashlib

from reglue.errors import UsageError

_DIGEST_BYTES = 32


def seal(mark: bytes, body: bytes) -> bytes:
    """`mark`, the SHA-256 of `body`, and `body`."""
    return mark + hashlib.sha256(body).digest() + body


def unseal(mark: bytes, sealed: bytes, wanted: str, *, what: str = "state") -> bytes:
    """The body. Raises UsageError, which says what was `wanted`, for what `seal` did not give."""
    if not sealed.startswith(mark):
        raise UsageError(f"got {sealed[:60]!r}…, wanted {wanted}")
    digest, body = sealed[len(mark) :][:_DIGEST_BYTES], sealed[len(mark) + _DIGEST_BYTES :]
    if hashlib.sha256(body).digest() != digest:
        raise UsageError(f"got a damaged {what} of {len(sealed)} bytes, wanted it as it was kept")
    return body
