"""A competition's certificate is renewed, and join strings stay good."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from glue_server.rpc import GlueServer
from glue_server.rpc.tls.authority import private_authority
from reglue.errors import UsageError, WrongTls
from reglue.net.join_string import JoinString, to_pem
from reglue.net.lobby import tls_trouble
from reglue_competition.phases import Secrets
from reglue_competition.phases.certificates import (
    AUTHORITY,
    AUTHORITY_KEY,
    CERTIFICATE,
    CERTIFICATE_KEY,
    Certificate,
    new_authority,
    renew,
)
from tests.error_facts import raises

DAY = timedelta(days=1)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    Secrets.create(tmp_path / "secrets", "example.org:4096")
    return tmp_path / "secrets"


def trouble(folder: Path, handed_out: Secrets) -> WrongTls | None:
    """The fault that an agent with an earlier join string finds in the server's certificate."""
    tls = handed_out.tls
    with GlueServer(tls=Secrets.read(folder).tls) as server:
        return tls_trouble(JoinString(server.address, "", tls.authority, tls.name), 5.0)


def test_join_strings_stay_good_when_the_certificate_is_renewed(folder: Path) -> None:
    before, first = Secrets.read(folder), Certificate.read(folder)
    renew(folder, "example.net:1")
    again = Certificate.read(folder)
    assert (again.authority, again.subject) == (first.authority, "CN=reglue")
    assert "example.net" in again.names
    assert Secrets.read(folder).tls.chain != before.tls.chain
    assert trouble(folder, before) is None
    new_authority(folder)
    assert "not signed by the authority" in str(trouble(folder, before))


def test_one_that_has_expired_is_read_and_renewed(folder: Path) -> None:
    before, now = Secrets.read(folder), datetime.now(UTC)
    renew(folder, valid=-DAY / 2)
    assert "has expired" in str(trouble(folder, before))
    with raises(UsageError, folder / CERTIFICATE, "renew"):
        Certificate.read(folder).check(now)
    renew(folder)
    Certificate.read(folder).check(now)
    assert trouble(folder, before) is None


@pytest.mark.parametrize(("left", "is_told"), [(29 * DAY, True), (31 * DAY, False)])
def test_its_end_is_told_30_days_before(folder: Path, left: timedelta, is_told: bool) -> None:
    renew(folder, valid=left)
    warning = Certificate.read(folder).warning(datetime.now(UTC))
    assert ("--renew" in warning) == is_told


def test_an_organisers_own_certificate_is_renewed_by_its_authority(folder: Path) -> None:
    own = private_authority("example.org:1")
    (folder / CERTIFICATE).write_bytes(own.chain)
    (folder / CERTIFICATE_KEY).write_bytes(own.key)
    (folder / AUTHORITY).write_bytes(to_pem(own.authority))
    with raises(UsageError, folder / AUTHORITY_KEY, folder / AUTHORITY):
        renew(folder)
    (folder / AUTHORITY_KEY).unlink()
    assert Secrets.read(folder).tls.authority == own.authority
    assert "put your authority's new one in its place" in Certificate.read(folder).renewal
    with raises(UsageError, folder, AUTHORITY_KEY, "new-authority"):
        renew(folder)
    assert (folder / CERTIFICATE).read_bytes() == own.chain
