"""The certificate that a glue shows: a private authority's, or the user's own."""

from __future__ import annotations

import contextlib
import ipaddress
import secrets
import socket
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TypeAlias

from cryptography import x509
from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from reglue.errors import UsageError
from reglue.net.join_string import read_authority, split_address, split_der

TLS_NAME = "reglue"
"""The name in the certificates of a private authority, whatever the address."""

_VALID = timedelta(days=365)
_SKEW = timedelta(days=1)  # how far the clocks of peers may be behind


@dataclass(frozen=True, slots=True)
class ServerTls:
    """What a glue shows, and the authority that peers trust."""

    chain: bytes  # PEM: the server's certificate, then those that lead to the authority
    key: bytes = field(repr=False)  # PEM, of the first certificate
    authority: bytes  # DER of the authority's certificate, or of several
    name: str  # a name in the server's certificate


def private_authority(*addresses: str) -> ServerTls:
    """A fresh authority and a certificate signed by it, in memory only, for a year.

    The certificate names `reglue`, this machine and the hosts of `addresses` (`host:port`, empty
    ones are skipped). The authority's key is forgotten at once. Raises UsageError.
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
    """The names of the certificate, each once, without 0.0.0.0."""
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


_PrivateKey: TypeAlias = ec.EllipticCurvePrivateKey | rsa.RSAPrivateKey


def own_certificate(certificate: Path, key: Path, authority: Path | None = None) -> ServerTls:
    """The certificate in the user's files: PEM of the server's certificate, and of its key.

    Certificates between it and its authority follow it in the file. `authority` is the file (PEM
    or DER) of the authority that peers trust; by default the last certificate of the first file,
    if that is self-signed. Raises UsageError for a file that is missing, unreadable, out of date,
    or does not belong to the others.
    """
    chain_pem, key_pem = _read(certificate), _read(key)
    chain = _chain(chain_pem, certificate)
    if _public(_key(key_pem, key)) != _public(chain[0]):
        raise UsageError(f"{key} is not the key of the certificate in {certificate}")
    _check_date(chain[0], certificate)
    trusted = _authority(chain, certificate, authority)
    return ServerTls(chain_pem, key_pem, trusted, _made_out_to(chain[0], certificate))


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}") from error


def _chain(pem: bytes, path: Path) -> list[x509.Certificate]:
    try:
        return x509.load_pem_x509_certificates(pem)
    except ValueError as error:
        raise UsageError(f"{path} holds no certificate: wanted the server's, in PEM") from error


def _key(pem: bytes, path: Path) -> _PrivateKey:
    wanted = "wanted an RSA or EC key in PEM, without a password"
    try:
        key = serialization.load_pem_private_key(pem, password=None)
    except (ValueError, UnsupportedAlgorithm) as error:
        raise UsageError(f"{path} holds no private key: {wanted}") from error
    except TypeError as error:
        raise UsageError(f"{path} is encrypted: {wanted}") from error
    if not isinstance(key, (ec.EllipticCurvePrivateKey, rsa.RSAPrivateKey)):
        raise UsageError(f"{path}: got {type(key).__name__}, {wanted}")
    return key


def _public(holder: x509.Certificate | _PrivateKey) -> bytes:
    return holder.public_key().public_bytes(
        serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo
    )


def _check_date(certificate: x509.Certificate, path: Path) -> None:
    begins, ends = certificate.not_valid_before_utc, certificate.not_valid_after_utc
    if not begins <= datetime.now(UTC) <= ends:
        raise UsageError(f"{path} is valid from {begins:%Y-%m-%d} to {ends:%Y-%m-%d}: renew it")


def _authority(chain: list[x509.Certificate], path: Path, given: Path | None) -> bytes:
    last = chain[-1]
    if given is None:
        if not _is_signed_by(last, last):
            raise UsageError(
                f"{path} lacks the authority that peers are to trust: give the certificate of the "
                f"authority that signed it, {last.issuer.rfc4514_string()} (--ca FILE)"
            )
        return last.public_bytes(serialization.Encoding.DER)
    trusted = read_authority(given)
    roots = [x509.load_der_x509_certificate(each) for each in split_der(trusted)]
    if not any(_is_signed_by(each, root) for each in chain for root in roots):
        raise UsageError(f"{path} is not signed by the authority in {given}")
    return trusted


def _is_signed_by(certificate: x509.Certificate, authority: x509.Certificate) -> bool:
    with contextlib.suppress(ValueError, TypeError, InvalidSignature):
        certificate.verify_directly_issued_by(authority)
        return True
    return False


def _made_out_to(certificate: x509.Certificate, path: Path) -> str:
    """A name in it, so that peers can check it whatever address they dial."""
    try:
        names = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except x509.ExtensionNotFound:
        names = None
    if names is not None:
        for name in names.get_values_for_type(x509.DNSName):
            return name.replace("*", TLS_NAME, 1)  # any name will do where one is left open
        for ip in names.get_values_for_type(x509.IPAddress):
            return str(ip)
    raise UsageError(f"{path} is made out to no host (subjectAltName): peers would refuse it")
