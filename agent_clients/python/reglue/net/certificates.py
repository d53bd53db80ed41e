"""Certificates of authorities: read as PEM or DER, kept as DER, handed to gRPC as PEM."""

from __future__ import annotations

import base64
import binascii
import re
from pathlib import Path

from reglue.errors import UsageError

_PEM = re.compile(rb"-----BEGIN CERTIFICATE-----(.*?)-----END CERTIFICATE-----", re.DOTALL)

_SEQUENCE = 0x30  # the tag that a certificate in DER begins with


def read_authority(source: str | Path | bytes) -> bytes:
    """The certificates in a file, or in `source` itself if it is bytes; PEM or DER.

    Returns DER; of several certificates, one after another. Raises UsageError.
    """
    if isinstance(source, bytes):
        return _der(source, "what was given as authority")
    try:
        return _der(Path(source).read_bytes(), str(source))
    except OSError as error:
        raise UsageError(f"{source} cannot be read: {error.strerror}") from error


def checked_authority(der: bytes, what: str) -> bytes:
    """`der`, if it is one certificate or more; `what` is what holds it. Raises UsageError."""
    import ssl  # costs more than the rest of this module; not every peer needs it

    try:
        split_der(der)
        ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT).load_verify_locations(cadata=der)
    except (ValueError, ssl.SSLError) as error:
        raise UsageError(
            f"{what} is no certificate: wanted that of an authority, whole, in PEM or DER"
        ) from error
    return der


def split_der(der: bytes) -> list[bytes]:
    """The certificates that stand one after another, at least one. Raises ValueError."""
    found: list[bytes] = []
    while der or not found:
        size = _size(der)
        if size > len(der):
            raise ValueError(f"got {len(der)} bytes, wanted {size}")
        found.append(der[:size])
        der = der[size:]
    return found


def to_pem(der: bytes) -> bytes:
    """As PEM, all of them."""
    return b"".join(
        b"-----BEGIN CERTIFICATE-----\n" + base64.encodebytes(each) + b"-----END CERTIFICATE-----\n"
        for each in split_der(der)
    )


def _der(content: bytes, what: str) -> bytes:
    blocks = _PEM.findall(content)
    try:
        return checked_authority(b"".join(map(base64.b64decode, blocks)) or content, what)
    except binascii.Error as error:
        raise UsageError(f"{what} is broken PEM: {error}") from error


def _size(der: bytes) -> int:
    """Bytes of the first element, its header included."""
    if len(der) < 2 or der[0] != _SEQUENCE:
        raise ValueError(f"got {der[:2].hex() or 'nothing'}, wanted a sequence")
    if der[1] < 0x80:
        return 2 + der[1]
    digits = der[1] - 0x80
    return 2 + digits + int.from_bytes(der[2 : 2 + digits], "big")
