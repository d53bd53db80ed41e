"""What a partner needs to come in: address, token, and whom to trust, in one string."""

from __future__ import annotations

import base64
import binascii
import os
from dataclasses import dataclass
from urllib.parse import parse_qs, urlencode, urlsplit

from reglue.errors import UsageError

SCHEME = "reglue"


@dataclass(frozen=True, slots=True)
class Invitation:
    """Where a glue listens and how to get in.

    As a string it is `reglue://HOST:PORT?token=…`, with `ca=…` where the glue speaks TLS:
    the certificate of its authority, DER in URL-safe base64, and `name=…` where the
    server's certificate is made out to another name than the address's.
    """

    address: str  # host:port
    token: str = ""
    authority: bytes = b""  # DER of the authority's certificate; empty: no TLS
    tls_name: str = ""  # the name in the server's certificate; empty: the address's

    def __str__(self) -> str:
        entries = {
            "token": self.token,
            "ca": base64.urlsafe_b64encode(self.authority).decode().rstrip("="),
            "name": self.tls_name,
        }
        query = urlencode({name: value for name, value in entries.items() if value})
        return f"{SCHEME}://{self.address}" + (f"?{query}" if query else "")


def invitation(address: str | None, token: str | None = None) -> Invitation:
    """The invitation of a join string, or of `host:port` and a token.

    They default to REGLUE_ADDRESS and REGLUE_TOKEN of the environment. A token that is
    given goes before one in the join string. Raises UsageError.
    """
    address = address or os.environ.get("REGLUE_ADDRESS")
    if not address:
        raise UsageError("no address: give host:port or a join string, or set REGLUE_ADDRESS")
    if "://" not in address:
        token = os.environ.get("REGLUE_TOKEN", "") if token is None else token
        return Invitation(address, token)
    parts = urlsplit(address)
    if parts.scheme != SCHEME or not parts.netloc:
        raise UsageError(f"got {address[:80]!r}, wanted {SCHEME}://HOST:PORT?token=…")
    entries = {name: values[-1] for name, values in parse_qs(parts.query).items()}
    return Invitation(
        address=parts.netloc,
        token=entries.get("token", os.environ.get("REGLUE_TOKEN", "")) if token is None else token,
        authority=_decoded(entries.get("ca", "")),
        tls_name=entries.get("name", ""),
    )


def _decoded(text: str) -> bytes:
    try:
        return base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)
    except binascii.Error as error:
        raise UsageError(f"the join string's ca is no certificate: {error}") from error
