"""The certificate that a glue shows: a private authority's, or the user's own."""

from __future__ import annotations

import contextlib
import ipaddress
import secrets
import socket
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Self, TypeAlias

from cryptography import x509
from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from glue_server.rpc.tls.server_certificate import ServerTls
from reglue.errors import UsageError, setting
from reglue.net.join_string import read_authority, split_address, split_der

TLS_NAME = "reglue"
"""The name in the certificates of a private authority, whatever the address."""

VALID = timedelta(days=365)
"""The validity of a new certificate."""

_PEM, _DER = serialization.Encoding.PEM, serialization.Encoding.DER
_SKEW = timedelta(days=1)  # how far the clocks of peers may be behind


@dataclass(frozen=True, slots=True)
class Authority:
    """A certificate authority of our own: peers that trust it trust what it signs."""

    certificate: x509.Certificate
    key: ec.EllipticCurvePrivateKey = field(repr=False)

    @classmethod
    def create(cls, valid: timedelta = VALID) -> Self:
        """A new authority."""
        key = ec.generate_private_key(ec.SECP256R1())
        # A name of its own: peers may know several.
        name = _name(f"Reglue authority {secrets.token_hex(8)}")
        certificate = (
            _certificate(name, key, datetime.now(UTC) + valid)
            .issuer_name(name)
            .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
            .add_extension(_usage(signs_certificates=True), critical=True)
            .sign(key, hashes.SHA256())
        )
        return cls(certificate, key)

    @classmethod
    def read(cls, certificate: Path, key: Path) -> Self:
        """The authority in two PEM files. Raises UsageError."""
        (found, *_), own = _chain(_read(certificate), certificate), _key(_read(key), key)
        if not isinstance(own, ec.EllipticCurvePrivateKey) or _public(own) != _public(found):
            raise UsageError(f"{key} is not the key of the authority in {certificate}")
        return cls(found, own)

    def server(self, *addresses: str, valid: timedelta = VALID) -> ServerTls:
        """A new certificate and key of a server, for a year at most.

        The certificate names `reglue`, this machine and the hosts of `addresses` (`host:port`,
        empty ones are skipped). Raises UsageError.
        """
        names = x509.SubjectAlternativeName(_names(addresses))
        chain, key = self._signed(TLS_NAME, ExtendedKeyUsageOID.SERVER_AUTH, valid, names)
        return ServerTls(chain, key, self.certificate.public_bytes(_DER), TLS_NAME)

    def client(self, name: str) -> bytes:
        """A new certificate of a peer of that name (64 characters at most) and its key, in PEM."""
        chain, key = self._signed(name, ExtendedKeyUsageOID.CLIENT_AUTH, VALID)
        return key + chain

    def key_pem(self) -> bytes:
        """The authority's own key: who has it can pretend to be any server."""
        return _key_pem(self.key)

    def _signed(
        self,
        subject: str,
        usage: x509.ObjectIdentifier,
        valid: timedelta,
        names: x509.SubjectAlternativeName | None = None,
    ) -> tuple[bytes, bytes]:
        """A certificate and its key, in PEM; it is valid for no longer than the authority."""
        key = ec.generate_private_key(ec.SECP256R1())
        ends = min(datetime.now(UTC) + valid, self.certificate.not_valid_after_utc)
        builder = (
            _certificate(_name(subject), key, ends)
            .issuer_name(self.certificate.subject)
            .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
            .add_extension(_usage(signs_certificates=False), critical=True)
            .add_extension(x509.ExtendedKeyUsage([usage]), critical=False)
            .add_extension(
                x509.AuthorityKeyIdentifier.from_issuer_public_key(self.key.public_key()),
                critical=False,
            )
        )
        if names is not None:
            builder = builder.add_extension(names, critical=False)
        return builder.sign(self.key, hashes.SHA256()).public_bytes(_PEM), _key_pem(key)


def private_authority(*addresses: str) -> ServerTls:
    """The certificate of a fresh authority, in memory only, for a year; see `Authority.server`.

    The authority's key is forgotten at once. Raises UsageError.
    """
    return Authority.create().server(*addresses)


def _key_pem(key: ec.EllipticCurvePrivateKey) -> bytes:
    form, plain = serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    return key.private_bytes(_PEM, form, plain)


def _name(common: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, common)])


def _certificate(
    subject: x509.Name, key: ec.EllipticCurvePrivateKey, ends: datetime
) -> x509.CertificateBuilder:
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(datetime.now(UTC) - _SKEW)
        .not_valid_after(ends)
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
        raise UsageError(got=f"host {host!r}", wanted="ASCII: write its punycode") from None


_PrivateKey: TypeAlias = ec.EllipticCurvePrivateKey | rsa.RSAPrivateKey


def own_certificate(
    certificate: Path, key: Path, authority: Path | None = None, *, may_be_old: bool = False
) -> ServerTls:
    """The certificate in the user's files: PEM of the server's certificate, and of its key.

    Certificates between it and its authority follow it in the file. `authority` is the file (PEM
    or DER) of the authority that peers trust; by default the last certificate of the first file,
    if that is self-signed. Raises UsageError for a file that is missing, unreadable, out of date,
    or does not belong to the others. With `may_be_old` the date is not looked at.
    """
    chain_pem, key_pem = _read(certificate), _read(key)
    chain = _chain(chain_pem, certificate)
    if _public(_key(key_pem, key)) != _public(chain[0]):
        raise UsageError(f"{key} is not the key of the certificate in {certificate}")
    if not may_be_old:
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
    return holder.public_key().public_bytes(_DER, serialization.PublicFormat.SubjectPublicKeyInfo)


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
                f"authority that signed it, {last.issuer.rfc4514_string()} "
                f"({setting('ca', 'FILE')})"
            )
        return last.public_bytes(_DER)
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
    """A host name of the certificate, which peers check whatever address they dial."""
    try:
        names = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except x509.ExtensionNotFound:
        names = None
    if names is not None:
        for name in names.get_values_for_type(x509.DNSName):
            return name.replace("*", TLS_NAME, 1)  # any name will do if one is left open
        for ip in names.get_values_for_type(x509.IPAddress):
            return str(ip)
    raise UsageError(f"{path} is made out to no host (subjectAltName): peers would refuse it")
