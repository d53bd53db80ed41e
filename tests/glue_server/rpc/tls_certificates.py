"""Certificates as other people's tools make them: chains, other keys, out of date."""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from cryptography.x509.oid import NameOID

from glue_server.rpc.tls.server_certificate import ServerTls

DAY = timedelta(days=1)
PEM = serialization.Encoding.PEM
DER = serialization.Encoding.DER


@dataclass(frozen=True)
class Certificate:
    """A certificate and its key."""

    certificate: x509.Certificate
    key: Any

    @property
    def pem(self) -> bytes:
        return self.certificate.public_bytes(PEM)

    @property
    def der(self) -> bytes:
        return self.certificate.public_bytes(DER)

    def key_pem(self, password: bytes = b"") -> bytes:
        secret = (
            serialization.BestAvailableEncryption(password)
            if password
            else serialization.NoEncryption()
        )
        return bytes(self.key.private_bytes(PEM, serialization.PrivateFormat.PKCS8, secret))


def certificate(
    common: str = "authority",
    *,
    by: Certificate | None = None,
    hosts: tuple[str, ...] = (),
    kind: str = "ec",
    begins: timedelta = -DAY,
    ends: timedelta = DAY,
) -> Certificate:
    """Signed by `by`, or by itself; an authority's own unless it has `hosts`."""
    key = new_key(kind)
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, common)])
    now = datetime.now(UTC)
    builder = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(by.certificate.subject if by else name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now + begins)
        .not_valid_after(now + ends)
    )
    if hosts:
        builder = builder.add_extension(x509.SubjectAlternativeName([*map(_name, hosts)]), False)
    else:
        builder = builder.add_extension(x509.BasicConstraints(True, None), True)
    signer = by.key if by else key
    hashing = None if isinstance(signer, ed25519.Ed25519PrivateKey) else hashes.SHA256()
    return Certificate(builder.sign(signer, hashing), key)


def new_key(kind: str) -> Any:
    match kind:
        case "rsa":
            return rsa.generate_private_key(public_exponent=65537, key_size=2048)
        case "ed25519":
            return ed25519.Ed25519PrivateKey.generate()
        case _:
            return ec.generate_private_key(ec.SECP256R1())


def shown(leaf: Certificate, authority: Certificate, name: str) -> ServerTls:
    """The certificates that a glue would show, whether or not they are any good."""
    return ServerTls(leaf.pem, leaf.key_pem(), authority.der, name)


def written(folder: Path, **contents: bytes) -> dict[str, Path]:
    """A file `NAME.pem` for each."""
    for name, content in contents.items():
        (folder / f"{name}.pem").write_bytes(content)
    return {name: folder / f"{name}.pem" for name in contents}


def _name(host: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(host))
    except ValueError:
        return x509.DNSName(host)
