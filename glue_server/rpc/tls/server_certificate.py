"""A server's certificate for TLS, in a module that does without the package cryptography."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class ServerTls:
    """The certificates that a glue shows, and the authority that peers trust."""

    chain: bytes  # PEM: the server's certificate, then those that lead to the authority
    key: bytes = field(repr=False)  # PEM, of the first certificate
    authority: bytes  # DER of the authority's certificate, or of several
    name: str  # a name in the server's certificate
    asks: bool = False  # peers must show a certificate by the authority, too
