"""A competition's folder of keys."""

from __future__ import annotations

import errno
import os
from dataclasses import replace
from pathlib import Path

import pytest
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from glue_server.rpc.tls.authority import TLS_NAME
from reglue.errors import UsageError
from reglue_bench.settings import Settings
from reglue_competition.phases.certificates import (
    AUTHORITY,
    AUTHORITY_KEY,
    CERTIFICATE,
    CERTIFICATE_KEY,
    new_authority,
)
from reglue_competition.phases.secrets import MASTER, SIGNING, Secrets
from tests.error_facts import raises

FILES = (MASTER, SIGNING, CERTIFICATE, CERTIFICATE_KEY, AUTHORITY)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "secrets"


@pytest.fixture
def secrets(folder: Path) -> Secrets:
    return Secrets.create(folder, "example.org:4096")


def test_secrets_survive_a_restart(secrets: Secrets, folder: Path) -> None:
    again = Secrets.read(folder)
    assert again.phase_secret("private") == secrets.phase_secret("private")
    assert again.salt("private") == secrets.salt("private")
    assert again.public_key == secrets.public_key
    assert again.tls == secrets.tls
    assert again.tls.name == TLS_NAME


def test_only_the_owner_can_read_them(secrets: Secrets, folder: Path) -> None:
    assert folder.stat().st_mode & 0o777 == 0o700
    modes = {path.name: path.stat().st_mode & 0o777 for path in folder.iterdir()}
    assert modes == dict.fromkeys([*FILES, AUTHORITY_KEY], 0o600)


@pytest.mark.parametrize("name", [".", *FILES, AUTHORITY_KEY])
def test_looser_permissions_are_refused(secrets: Secrets, folder: Path, name: str) -> None:
    (folder / name).chmod(0o750 if name == "." else 0o640)
    modes = ["mode 750", "wanted 700"] if name == "." else ["mode 640", "wanted 600"]
    with raises(UsageError, *modes, "chmod"):
        Secrets.read(folder)


@pytest.mark.parametrize("name", FILES)
def test_a_missing_file_is_named(secrets: Secrets, folder: Path, name: str) -> None:
    (folder / name).unlink()
    with raises(UsageError, folder / name, os.strerror(errno.ENOENT)):
        Secrets.read(folder)


@pytest.mark.parametrize("name", FILES)
def test_a_damaged_file_is_named(secrets: Secrets, folder: Path, name: str) -> None:
    (folder / name).write_bytes(b"\xff no key")
    with raises(UsageError, folder / name):
        Secrets.read(folder)


def test_a_key_of_another_kind_does_not_sign(secrets: Secrets, folder: Path) -> None:
    (folder / SIGNING).write_bytes((folder / CERTIFICATE_KEY).read_bytes())
    with raises(UsageError, folder / SIGNING, "Ed25519", got="ECPrivateKey"):
        Secrets.read(folder)


def test_secrets_that_exist_are_not_drawn_over(secrets: Secrets, folder: Path) -> None:
    with raises(UsageError, folder, "exists"):
        Secrets.create(folder)
    assert Secrets.read(folder).public_key == secrets.public_key


def test_phases_and_competitions_share_no_secret(secrets: Secrets, tmp_path: Path) -> None:
    other = Secrets.create(tmp_path / "other")
    drawn = [each.phase_secret(name) for each in (secrets, other) for name in ("a", "b")]
    drawn += [each.salt(name).hex() for each in (secrets, other) for name in ("a", "b")]
    assert len(set(drawn)) == len(drawn)
    Settings(benchmark="MT1/reach", secret=drawn[0])  # strong enough


def test_a_signature_is_checked_with_the_public_key(secrets: Secrets, tmp_path: Path) -> None:
    digest = bytes(32)
    signature = secrets.sign(digest)
    Ed25519PublicKey.from_public_bytes(secrets.public_key).verify(signature, digest)
    stranger = Secrets.create(tmp_path / "other").public_key
    with pytest.raises(InvalidSignature):
        Ed25519PublicKey.from_public_bytes(stranger).verify(signature, digest)


def test_a_new_authority_leaves_the_other_keys(secrets: Secrets, folder: Path) -> None:
    new_authority(folder, "example.net:1")
    again = Secrets.read(folder)
    assert again.tls.authority != secrets.tls.authority
    assert replace(again, tls=secrets.tls).phase_secret("a") == secrets.phase_secret("a")
    assert again.public_key == secrets.public_key


def test_no_secret_is_printed(secrets: Secrets, folder: Path) -> None:
    assert (folder / MASTER).read_text().strip() not in repr(secrets)
    assert "PRIVATE KEY" not in repr(secrets)
