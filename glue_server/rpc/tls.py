"""What a glue shows to peers who want TLS, and the private authority that vouches for it."""

from __future__ import annotations

import ipaddress
import secrets
import socket
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from reglue.errors import UsageError
from reglue.net.join_string import split_address

TLS_NAME = "reglue"
"""The name that a private authority's certificates are made out to, whatever the address."""

_VALID = timedelta(days=365)
_SKEW = timedelta(days=1)  # by which clocks of peers may be behind


@dataclass(frozen=True, slots=True)
class ServerTls:
    """What a glue shows, and whom peers are to trust."""

    chain: bytes  # PEM: the server's certificate, then those that lead to the authority
    key: bytes = field(repr=False)  # PEM, of the first certificate
    authority: bytes  # DER of the authority's certificate, or of several
    name: str  # one that the server's certificate is made out to


def private_authority(*addresses: str) -> ServerTls:
    """A fresh authority and a certificate signed by it, in memory only, for a year.

    The certificate is made out to `reglue`, to this machine and to the hosts of
    `addresses` (`host:port`, as one listens at or is dialled; empty ones are skipped).
    The authority's key is forgotten at once. Raises UsageError.
    """
    now = datetime.now(UTC)
    own_key, key = ec.generate_private_key(ec.SECP256R1()), ec.generate_private_key(ec.SECP256R1())
    # A name of its own: peers may know several.
    own_name = _name(f"Reglue authority {secrets.token_hex(8)}")
    authority = (
        _certificate(own_name, own_key, now)
        .issuer_name(own_name)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(_usage(signs_certificates=True), critical=True)
        .sign(own_key, hashes.SHA256())
    )
    certificate = (
        _certificate(_name(TLS_NAME), key, now)
        .issuer_name(own_name)
        .add_extension(x509.SubjectAlternativeName(_names(addresses)), critical=False)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(_usage(signs_certificates=False), critical=True)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
        .add_extension(
            x509.AuthorityKeyIdentifier.from_issuer_public_key(own_key.public_key()),
            critical=False,
        )
        .sign(own_key, hashes.SHA256())
    )
    return ServerTls(
        chain=certificate.public_bytes(serialization.Encoding.PEM),
        key=key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        ),
        authority=authority.public_bytes(serialization.Encoding.DER),
        name=TLS_NAME,
    )


def _name(common: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, common)])


def _certificate(
    subject: x509.Name, key: ec.EllipticCurvePrivateKey, now: datetime
) -> x509.CertificateBuilder:
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - _SKEW)
        .not_valid_after(now + _VALID)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
    )


def _usage(*, signs_certificates: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=not signs_certificates,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=signs_certificates,
        crl_sign=signs_certificates,
        encipher_only=False,
        decipher_only=False,
    )


def _names(addresses: tuple[str, ...]) -> list[x509.GeneralName]:
    """Without those that nobody can dial (0.0.0.0), each once."""
    hosts = [split_address(each)[0].strip("[]") for each in addresses if each]
    machine = [name for name in [socket.gethostname()] if name and name.isascii()]
    every = [TLS_NAME, "localhost", "127.0.0.1", "::1", *machine, *hosts]
    names: list[x509.GeneralName] = []
    for host in dict.fromkeys(every):
        try:
            ip = ipaddress.ip_address(host)
        except ValueError:
            names.append(_dns_name(host))
        else:
            if not ip.is_unspecified:
                names.append(x509.IPAddress(ip))
    return names


def _dns_name(host: str) -> x509.DNSName:
    try:
        return x509.DNSName(host)
    except ValueError:
        raise UsageError(f"got host {host!r}, wanted ASCII: write its punycode") from None
