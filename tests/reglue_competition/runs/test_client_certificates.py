"""A competition that asks agents for a certificate: `client_certificates = true`."""

from __future__ import annotations

import errno
import logging
import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    PrivateFormat,
    load_pem_private_key,
)

from glue_server.rpc.tls.authority import Authority, private_authority
from reglue.errors import UsageError, WrongTls, WrongToken
from reglue.net.grpc_settings import HUB_MESSAGE_BYTES, grpc
from reglue.net.join_string import JoinString
from reglue.net.lobby import open_channel, tls_trouble
from reglue_competition.phases.certificates import client_certificate
from tests.error_facts import raises
from tests.glue_server.rpc.peers import RawAgent, ask, refusal
from tests.reglue_bench.agents import Seeded
from tests.reglue_competition.runs.corridor_submissions import joined
from tests.reglue_competition.runs.hosting import Hosting, hosting
from tests.waiting import PATIENCE_S

CERTIFICATE = b"-----BEGIN CERTIFICATE-----"

Shows = Callable[[str], None]


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Hosting]:
    with hosting(tmp_path, client_certificates=True) as server:
        yield server


@pytest.fixture
def shows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Shows:
    """Agents of this process show a certificate of that team from now on."""

    def shows(team: str) -> None:
        file = tmp_path / f"{team}.pem"
        file.write_bytes(client_certificate(tmp_path / "secrets", team))
        monkeypatch.setenv("REGLUE_CERT", str(file))

    return shows


def test_an_agent_with_its_teams_certificate_plays(server: Hosting, shows: Shows) -> None:
    shows("Ünsere 1")
    with joined(server.team("Ünsere 1"), Seeded()):
        server.runs_until_status("finished", "Ünsere 1")


def test_an_agent_without_one_is_told_what_it_lacks(
    server: Hosting, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("REGLUE_CERT", raising=False)
    where = server.team("ours")
    with joined(where, Seeded()) as agent, raises(WrongTls, where.address, "set REGLUE_CERT"):
        agent.result(PATIENCE_S)
    stranger = private_authority()
    (tmp_path / "stranger.pem").write_bytes(stranger.key + stranger.chain)
    monkeypatch.setenv("REGLUE_CERT", str(tmp_path / "stranger.pem"))
    assert "does not accept the certificate" in str(tls_trouble(where, 5.0))
    assert server.store.submissions() == []


def test_a_certificate_of_another_team_is_refused_and_logged(
    server: Hosting, shows: Shows, caplog: pytest.LogCaptureFixture
) -> None:
    where = server.team("ours")
    shows("theirs")
    with (
        caplog.at_level(logging.WARNING, "reglue"),
        joined(where, Seeded()) as agent,
        raises(WrongToken, "token", "team", "certificate"),
    ):
        agent.result(PATIENCE_S)
    assert server.store.submissions() == []
    (told,) = (each for each in caplog.records if "a join was refused" in each.message)
    assert "certificate='theirs'" in told.message
    assert vars(told)["team"] == "ours"


def test_a_session_goes_on_with_the_certificate_that_it_began_with(
    server: Hosting, shows: Shows
) -> None:
    where = server.team("ours")
    shows("ours")
    with open_channel(where, HUB_MESSAGE_BYTES) as channel:
        ticket = ask(channel, token=where.token)
    shows("theirs")
    with open_channel(where, HUB_MESSAGE_BYTES) as channel:
        agent = RawAgent(channel, "", ticket=ticket)
        with pytest.raises(grpc.RpcError) as refused:
            agent.hear()
        assert refusal(refused.value)[0] == "UNAUTHENTICATED"
        agent.vanish()


def test_a_file_that_holds_no_certificate_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    where = JoinString("127.0.0.1:1", "", private_authority().authority, "reglue")
    monkeypatch.setenv("REGLUE_CERT", str(tmp_path / "none.pem"))
    with raises(UsageError, "REGLUE_CERT", tmp_path / "none.pem", os.strerror(errno.ENOENT)):
        open_channel(where, HUB_MESSAGE_BYTES)
    one, other = (Authority.create().client("a") for _ in range(2))
    key, certificate = one[: one.index(CERTIFICATE)], one[one.index(CERTIFICATE) :]
    encrypted = load_pem_private_key(key, None).private_bytes(
        Encoding.PEM, PrivateFormat.PKCS8, BestAvailableEncryption(b"secret")
    )
    others = other[: other.index(CERTIFICATE)] + certificate
    for content in (b"nothing", key, certificate, others, encrypted + certificate):
        (tmp_path / "none.pem").write_bytes(content)
        with raises(UsageError, "REGLUE_CERT", tmp_path / "none.pem", "PEM"):
            open_channel(where, HUB_MESSAGE_BYTES)
