"""The certificate of a competition's server, and the authority that signs it.

`init` makes both. The authority's key is kept, so that a certificate can be renewed and join
strings stay good. An organiser's own certificate may replace them: then there is no such
key.
"""

from __future__ import annotations

import ssl
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Self

from cryptography import x509

from glue_server.rpc.tls.authority import VALID, Authority
from glue_server.rpc.tls.server_certificate import ServerTls
from reglue.errors import BadArgument, UsageError
from reglue.net.join_string import split_der
from reglue_bench.results.whole_file import whole_file

CERTIFICATE, CERTIFICATE_KEY = "certificate.pem", "certificate.key.pem"
AUTHORITY, AUTHORITY_KEY = "authority.pem", "authority.key.pem"

WARN = timedelta(days=30)
"""The time before the end of its certificate from which a server warns of it."""

MOST_NAME = 64
"""Bytes of a common name in UTF-8 (X.520, ub-common-name)."""

_AUTHORITY_VALID = timedelta(days=3652)


@dataclass(frozen=True, slots=True)
class Certificate:
    """The public facts of a server's certificate."""

    path: Path
    subject: str
    names: tuple[str, ...]  # hosts that it is made out to
    authority: str  # that signed it
    begins: datetime  # UTC
    ends: datetime  # UTC

    @classmethod
    def read(cls, folder: Path) -> Self:
        """Read the certificate in a folder of secrets. Raises UsageError."""
        path = folder / CERTIFICATE
        try:
            certificate = x509.load_pem_x509_certificate(path.read_bytes())
        except OSError as error:
            raise UsageError(f"{path} cannot be read: {error.strerror}") from error
        except ValueError as error:
            raise UsageError(f"{path} holds no certificate: wanted the server's, in PEM") from error
        return cls(
            path=path,
            subject=certificate.subject.rfc4514_string(),
            names=_names(certificate),
            authority=certificate.issuer.rfc4514_string(),
            begins=certificate.not_valid_before_utc,
            ends=certificate.not_valid_after_utc,
        )

    def check(self, now: datetime) -> None:
        """Raise UsageError if it is not valid now."""
        if not self.begins <= now <= self.ends:
            raise UsageError(
                f"{self.path} is valid from {self.begins:%Y-%m-%d %H:%M} to "
                f"{self.ends:%Y-%m-%d %H:%M} UTC, so agents would refuse it: {self.renewal}"
            )

    def warning(self, now: datetime) -> str:
        """A warning with what to do; empty while its end is far."""
        if self.ends - now > WARN:
            return ""
        return f"{self.path} expires at {self.ends:%Y-%m-%d %H:%M} UTC: {self.renewal}"

    @property
    def renewal(self) -> str:
        """Instructions for the organiser to renew it."""
        secrets = self.path.parent
        if (secrets / AUTHORITY_KEY).exists():
            return f"`reglue competition certificate {secrets.parent} --renew`, then start anew"
        return f"put your authority's new one in its place, with its key, {CERTIFICATE_KEY}"


def renew(folder: Path, *addresses: str, valid: timedelta = VALID) -> None:
    """Make a new certificate, signed by the same authority.

    Join strings stay good. `addresses` (`host:port`) go into it. Raises UsageError if the
    authority's key is not in the folder, or the authority is out of date itself.
    """
    if not (folder / AUTHORITY_KEY).exists():
        raise UsageError(
            f"{folder} holds no {AUTHORITY_KEY}: the certificate is of an authority whose key is "
            f"elsewhere. Put its new certificate into {CERTIFICATE} and {CERTIFICATE_KEY}; or "
            "`--new-authority`, which needs new join strings"
        )
    authority = Authority.read(folder / AUTHORITY, folder / AUTHORITY_KEY)
    ends = authority.certificate.not_valid_after_utc
    if ends <= datetime.now(UTC):
        raise UsageError(
            f"{folder / AUTHORITY} ended at {ends:%Y-%m-%d} itself: `--new-authority`, and give "
            "each team a new join string"
        )
    _write_certificate(folder, authority.server(*addresses, valid=valid))


def new_authority(folder: Path, *addresses: str) -> None:
    """Make an authority and a certificate anew, in place of those in the folder.

    Who trusts the old authority needs a new join string. Raises UsageError.
    """
    authority = Authority.create(_AUTHORITY_VALID)
    tls = authority.server(*addresses)
    trusted = "".join(map(ssl.DER_cert_to_PEM_cert, split_der(tls.authority)))
    try:
        write_closed(folder / AUTHORITY_KEY, authority.key_pem())
        write_closed(folder / AUTHORITY, trusted.encode())
    except OSError as error:
        raise UsageError(f"{folder} cannot be written: {error.strerror}") from error
    _write_certificate(folder, tls)


def client_certificate(folder: Path, team: str) -> bytes:
    """A new certificate for a team's agents and its key, in PEM, for a year. Raises UsageError."""
    if not (folder / AUTHORITY_KEY).exists():
        raise UsageError(
            f"{folder} holds no {AUTHORITY_KEY}: have the authority whose key is elsewhere make a "
            f"certificate for the common name {team!r}, or set client_certificates = false"
        )
    if (size := len(team.encode())) > MOST_NAME:
        raise BadArgument(
            got=f"the team {team!r}, {size} bytes in UTF-8", wanted=f"{MOST_NAME} for a certificate"
        )
    return Authority.read(folder / AUTHORITY, folder / AUTHORITY_KEY).client(team)


def write_closed(path: Path, content: bytes) -> None:
    """Write a file that only its owner can read."""
    with whole_file(path, mode=0o600) as file:
        file.write(content)


def _write_certificate(folder: Path, tls: ServerTls) -> None:
    try:
        write_closed(folder / CERTIFICATE, tls.chain)
        write_closed(folder / CERTIFICATE_KEY, tls.key)
    except OSError as error:
        raise UsageError(f"{folder} cannot be written: {error.strerror}") from error


def _names(certificate: x509.Certificate) -> tuple[str, ...]:
    try:
        names = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except x509.ExtensionNotFound:
        return ()
    hosts = names.get_values_for_type(x509.DNSName)
    return (*hosts, *map(str, names.get_values_for_type(x509.IPAddress)))
