"""TLS with a certificate of the user's own: its files are checked before anybody listens."""

from __future__ import annotations

import contextlib
from datetime import UTC, datetime
from pathlib import Path
from typing import TypeAlias

from cryptography import x509
from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa

from glue_server.rpc.tls import TLS_NAME, ServerTls
from reglue.errors import UsageError
from reglue.net.join_string import read_authority, split_der

_PrivateKey: TypeAlias = ec.EllipticCurvePrivateKey | rsa.RSAPrivateKey


def own_certificate(certificate: Path, key: Path, authority: Path | None = None) -> ServerTls:
    """What the user's files hold: PEM of the server's certificate, and of its key.

    Behind the certificate stand those between it and its authority, if there are any.
    `authority` is the file (PEM or DER) of whom peers are to trust; without it the
    last certificate of the first file, if that is self-signed. Raises UsageError for a
    file that is missing, unreadable, out of date, or does not belong to the others.
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
                f"{path} does not say whom peers are to trust: give the certificate of the "
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
