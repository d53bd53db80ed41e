"""The join string (address, token and trusted authority), and the kinds of transport."""

from __future__ import annotations

import base64
import binascii
import os
import re
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal, TypeAlias, get_args
from urllib.parse import parse_qsl, urlencode, urlsplit

from reglue.errors import BadArgument, UsageError, setting

SCHEME = "reglue"

_FORM = f"{SCHEME}://HOST:PORT?ca=…&name=…&token=…"

_HOST = re.compile(r"[^\s/?#@:\[\]]+|\[[^\s/?#@\[\]]*:[^\s/?#@\[\]]*\]")

_MOST_SHOWN = 20  # characters: a token that we make has 32

_LAST_PORT = 65535  # grpc would take a larger number modulo 65536

_SOCKET = re.compile(r"unix:(/[A-Za-z0-9._~/+,@=:-]+)")  # what grpc takes as it stands

LOBBY = "lobby"
"""The Unix socket at which gRPC answers, in the folder of a glue's sockets."""

LONGEST = 107
"""Bytes of a Unix socket's path (sun_path holds 108, with the zero behind it)."""


@dataclass(frozen=True, slots=True)
class JoinString:
    """A glue's address, and the secrets that joining it takes.

    As a string, the join string, it is `reglue://HOST:PORT?token=…`, with `ca=…` if the
    glue speaks TLS: the certificate of its authority, DER in URL-safe base64, and
    `name=…` if the name in the server's certificate is not the address's. Where there is no
    network, `unix:/PATH` stands for HOST:PORT: a Unix socket at which the glue's gRPC answers.
    """

    address: str  # host:port, or unix:/path
    token: str = ""
    authority: bytes = b""  # DER of its certificate, or of several; empty: no TLS
    tls_name: str = ""  # the name in the server's certificate; empty: the address's

    def __str__(self) -> str:
        # The authority first: if a shell cuts an unquoted string at its `&`, or somebody
        # copies half of it, what is left must not be a join string without TLS.
        entries = {
            "ca": base64.urlsafe_b64encode(self.authority).decode().rstrip("="),
            "name": self.tls_name,
            "token": self.token,
        }
        query = urlencode({name: value for name, value in entries.items() if value})
        return f"{SCHEME}://{self.address}" + (f"?{query}" if query else "")


def join_string(
    address: str | None = None,
    token: str | None = None,
    *,
    ca: str | Path | bytes | None = None,
    tls_name: str | None = None,
) -> JoinString:
    """Read a join string, `host:port`, or `unix:/path`.

    Address and token default to REGLUE_ADDRESS and REGLUE_TOKEN of the environment. The other
    arguments override what the join string says: `token`, `ca` (a file of the authority's
    certificate, PEM or DER, or its bytes) and `tls_name`. Raises BadArgument.
    """
    address = (address or os.environ.get("REGLUE_ADDRESS") or "").strip().removeprefix("\ufeff")
    if not address:
        raise BadArgument("no address: give host:port or a join string, or set REGLUE_ADDRESS")
    said = _parsed(address) if "://" in address else JoinString(_dialled(address))
    whole = replace(
        said,
        token=(said.token or os.environ.get("REGLUE_TOKEN", "")) if token is None else token,
        authority=said.authority if ca is None else read_authority(ca),
        tls_name=said.tls_name if tls_name is None else tls_name,
    )
    if whole.tls_name and not whole.authority:
        raise BadArgument(
            f"got TLS name {whole.tls_name!r} and no authority to trust: give the whole join "
            f"string, or the authority's certificate ({setting('ca', 'FILE')})"
        )
    return whole


def split_address(address: str) -> tuple[str, int]:
    """Host and port of `host:port`; an IPv6 host is in brackets. Raises BadArgument."""
    host, _, port = address.rpartition(":")
    is_port = port.isascii() and port.isdecimal() and int(port) <= _LAST_PORT
    if not is_port or not _HOST.fullmatch(host):
        raise BadArgument(
            got=f"address {_shown(address)}", wanted="host:port such as 127.0.0.1:4096"
        )
    return host, int(port)


def socket_path(address: str) -> str | None:
    """The path of `unix:/path`; None for another address."""
    found = _SOCKET.fullmatch(address)
    return found[1] if found else None


def _shown(text: str) -> str:
    """The part of a string with a token that a message may repeat: at most its host."""
    scheme, found, rest = text.rpartition("://")
    host = re.split(r"[?#/&=]", rest, maxsplit=1)[0].rpartition("@")[2]
    shown = f"{_part(scheme)}{found}{_part(host)}"
    return repr(shown if len(shown) == len(text) else f"{shown}…")


def _part(text: str) -> str:
    """`text`, or the beginning of a text that is as long as a token."""
    return text if len(text) <= _MOST_SHOWN else f"{text[:4]}…"


def _dialled(address: str) -> str:
    """`address`, if peers can dial it. Raises BadArgument."""
    if (path := socket_path(address)) is not None:
        if (size := len(os.fsencode(path))) > LONGEST:
            raise BadArgument(
                got=f"a Unix socket's path of {size} bytes", wanted=f"{LONGEST} at most"
            )
        return address
    if split_address(address)[1] == 0:
        raise BadArgument(got=f"address {address!r}", wanted="the port that the glue listens on")
    return address


def _parsed(text: str) -> JoinString:
    """Read a join string. Unknown parts are refused: they may say which authority to trust."""
    try:
        parts = urlsplit(text)
        pairs = parse_qsl(parts.query, keep_blank_values=True, strict_parsing=bool(parts.query))
    except ValueError:  # whose words repeat what may be the token
        raise BadArgument(got=f"join string {_shown(text)}", wanted=_FORM) from None
    entries = dict(pairs)
    is_cut = "?" in text and not entries  # the authority may be missing
    address = f"{parts.netloc}{parts.path}".removesuffix("/")
    is_place = parts.path in ("", "/") or socket_path(address) is not None
    if parts.scheme != SCHEME or not is_place or parts.fragment or is_cut:
        raise BadArgument(got=f"join string {_shown(text)}", wanted=_FORM)
    if len(entries) < len(pairs) or not entries.keys() <= {"ca", "name", "token"}:
        got = ", ".join(map(_part, (name for name, _ in pairs)))
        raise BadArgument(got=f"a join string with {got}", wanted="ca, name and token, each once")
    return JoinString(
        address=_dialled(address),
        token=entries.get("token", ""),
        authority=_decoded(entries["ca"]) if "ca" in entries else b"",
        tls_name=entries.get("name", ""),
    )


def _decoded(text: str) -> bytes:
    what = "the join string's ca"
    try:
        der = base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)
    except (binascii.Error, ValueError) as error:
        raise BadArgument(f"{what} is no certificate, copy it whole: {error}") from error
    return checked_authority(der, what)


_PEM = re.compile(rb"-----BEGIN CERTIFICATE-----(.*?)-----END CERTIFICATE-----", re.DOTALL)

_SEQUENCE = 0x30  # the tag that a certificate in DER begins with


def read_authority(source: str | Path | bytes) -> bytes:
    """The certificates in a file, or in `source` itself if it is bytes; PEM or DER.

    Returns DER; several certificates follow one another. Raises UsageError.
    """
    if isinstance(source, bytes):
        return _der(source, "what was given as authority")
    try:
        return _der(Path(source).read_bytes(), str(source))
    except OSError as error:
        raise UsageError(f"{source} cannot be read: {error.strerror}") from error


def checked_authority(der: bytes, what: str) -> bytes:
    """`der`, if it is one certificate or more; `what` names its source. Raises UsageError."""
    import ssl  # costs more than the rest of this module; not every peer needs it

    try:
        split_der(der)
        ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT).load_verify_locations(cadata=der)
    except (ValueError, ssl.SSLError) as error:
        raise UsageError(
            f"{what} is no certificate: wanted that of an authority, whole, in PEM or DER"
        ) from error
    return der


def own_certificate() -> bytes | None:
    """The peer's own certificate with its key, from the PEM file that REGLUE_CERT names.

    Raises UsageError.
    """
    path = os.environ.get("REGLUE_CERT")
    if not path:
        return None
    import ssl  # as above

    try:
        # An empty password: else OpenSSL asks at the terminal for that of an encrypted key.
        ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT).load_cert_chain(path, password="")
        return Path(path).read_bytes()
    except ssl.SSLError as error:
        raise UsageError(
            f"REGLUE_CERT: {path} holds no certificate with its key: wanted both, in PEM, "
            "without a passphrase"
        ) from error
    except OSError as error:
        raise UsageError(f"REGLUE_CERT: {path} cannot be read: {error.strerror}") from error


def split_der(der: bytes) -> list[bytes]:
    """Split certificates that follow one another, at least one. Raises ValueError."""
    found: list[bytes] = []
    while der or not found:
        size = _size(der)
        if size > len(der):
            raise ValueError(f"got {len(der)} bytes, wanted {size}")
        found.append(der[:size])
        der = der[size:]
    return found


def to_pem(der: bytes) -> bytes:
    """The same certificates as PEM."""
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
    """Bytes of the first element, with its header."""
    if len(der) < 2 or der[0] != _SEQUENCE:
        raise ValueError(f"got {der[:2].hex() or 'nothing'}, wanted a sequence")
    if der[1] < 0x80:
        return 2 + der[1]
    digits = der[1] - 0x80
    return 2 + digits + int.from_bytes(der[2 : 2 + digits], "big")


Transport: TypeAlias = Literal["auto", "grpc", "unix"]
"""`unix`: a Unix socket only; `auto`: a Unix socket if both ends are on one host, else gRPC."""

TRANSPORTS: tuple[Transport, ...] = get_args(Transport)
