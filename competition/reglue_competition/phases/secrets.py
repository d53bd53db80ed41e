"""A competition's secrets: a folder of keys that only its owner can read."""

from __future__ import annotations

import hashlib
import hmac
import stat
from dataclasses import dataclass, field
from pathlib import Path
from secrets import token_bytes
from typing import Self

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from glue_server.rpc.tls.authority import own_certificate
from glue_server.rpc.tls.server_certificate import ServerTls
from reglue.errors import UsageError
from reglue_competition.phases.certificates import (
    AUTHORITY,
    AUTHORITY_KEY,
    CERTIFICATE,
    CERTIFICATE_KEY,
    new_authority,
    write_closed,
)

MASTER = "master.key"
SIGNING = "signing.pem"

_MASTER_BYTES = 32
_OTHERS = stat.S_IRWXG | stat.S_IRWXO


@dataclass(frozen=True, slots=True)
class Secrets:
    """The keys of one competition, read from its folder `secrets/`.

    Phases share nothing: what each draws by is derived from the master secret and its name.
    """

    tls: ServerTls  # what peers and browsers are shown
    _master: bytes = field(repr=False)
    _signing: Ed25519PrivateKey = field(repr=False)

    @classmethod
    def create(cls, folder: Path, *addresses: str) -> Self:
        """Draw new secrets into a new folder; `addresses` (`host:port`) go into the certificate.

        Raises UsageError if the folder exists or cannot be made.
        """
        try:
            folder.mkdir(mode=0o700)
            write_closed(folder / MASTER, token_bytes(_MASTER_BYTES).hex().encode() + b"\n")
            write_closed(folder / SIGNING, _pem(Ed25519PrivateKey.generate()))
        except FileExistsError as error:
            raise UsageError(f"{folder} exists: wanted no folder of secrets there yet") from error
        except OSError as error:
            raise UsageError(f"{folder} cannot be written: {error.strerror}") from error
        new_authority(folder, *addresses)
        return cls.read(folder)

    @classmethod
    def read(cls, folder: Path) -> Self:
        """Read the secrets of a folder.

        The certificate may be out of date: a server looks at that. Raises UsageError if a file is
        missing, damaged or open to other users.
        """
        _check_closed(folder)
        for name in (MASTER, SIGNING, CERTIFICATE, CERTIFICATE_KEY, AUTHORITY):
            _check_closed(folder / name)
        if (folder / AUTHORITY_KEY).exists():
            _check_closed(folder / AUTHORITY_KEY)
        certificate, key = folder / CERTIFICATE, folder / CERTIFICATE_KEY
        return cls(
            tls=own_certificate(certificate, key, folder / AUTHORITY, may_be_old=True),
            _master=_master(folder / MASTER),
            _signing=_signing_key(folder / SIGNING),
        )

    def phase_secret(self, phase: str) -> str:
        """The secret that keys a phase's goals, cells and submissions; hexadecimal."""
        return self._derived(f"reglue phase {phase}").hex()

    def salt(self, phase: str) -> bytes:
        """32 bytes that hide a phase's plans in their commitment, until they are revealed.

        They also draw what one entry alone plays, see `entry_secret`.
        """
        return self._derived(f"reglue salt {phase}")

    def sign(self, digest: bytes) -> bytes:
        """The Ed25519 signature of a digest, 64 bytes."""
        return self._signing.sign(digest)

    @property
    def public_key(self) -> bytes:
        """The key that checks signatures, 32 bytes."""
        return self._signing.public_key().public_bytes_raw()

    def _derived(self, label: str) -> bytes:
        return hmac.digest(self._master, label.encode(), hashlib.sha256)


def _pem(key: Ed25519PrivateKey) -> bytes:
    return key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )


def _check_closed(path: Path) -> None:
    """Raise UsageError unless the path is there, and other users have no rights to it."""
    try:
        mode = stat.S_IMODE(path.stat().st_mode)
    except OSError as error:
        raise UsageError(
            f"{path} cannot be read: {error.strerror}; restore it from a backup"
        ) from error
    if mode & _OTHERS:
        wanted = "700" if path.is_dir() else "600"
        raise UsageError(
            path,
            got=f"mode {mode:o}",
            wanted=(
                f"{wanted}: other users could read it; `chmod {wanted} {path}`, and "
                "draw it anew if they may have"
            ),
        )


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}") from error


def _master(path: Path) -> bytes:
    try:
        master = bytes.fromhex(_read(path).decode("ascii"))
    except ValueError:
        master = b""
    if len(master) != _MASTER_BYTES:
        raise UsageError(f"{path}: wanted {2 * _MASTER_BYTES} hexadecimal digits")
    return master


def _signing_key(path: Path) -> Ed25519PrivateKey:
    try:
        key = serialization.load_pem_private_key(_read(path), password=None)
    except (ValueError, TypeError) as error:
        raise UsageError(f"{path}: wanted an Ed25519 key in PEM, without a password") from error
    if not isinstance(key, Ed25519PrivateKey):
        raise UsageError(path, got=type(key).__name__, wanted="an Ed25519 key")
    return key
