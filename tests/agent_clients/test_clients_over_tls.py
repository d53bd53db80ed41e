"""Clients in every language show the certificate that REGLUE_CERT names."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from glue_server.rpc import GlueServer
from glue_server.rpc.tls.authority import Authority
from tests.agent_clients.client_programs import LANGUAGES
from tests.agent_clients.test_words import PATIENCE_S, started
from tests.leftovers import nothing_left

pytestmark = [
    pytest.mark.timeout(900),  # the first test compiles clients
    pytest.mark.usefixtures("julia_finds_libreglue"),
]


@pytest.mark.parametrize("client", LANGUAGES)
def test_an_agent_shows_its_certificate_or_says_that_it_lacks_one(
    client: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    authority, stranger = Authority.create(), Authority.create()
    for name, made in (("ours", authority), ("strangers", stranger)):
        (tmp_path / name).write_bytes(made.client("a team"))
    tls = replace(authority.server(), asks=True)
    with nothing_left(), GlueServer(tls=tls, transport="grpc") as server:
        where = str(server.join_string("agent"))
        for file, part in (
            ("", "asks for a certificate of yours: set REGLUE_CERT"),
            (str(tmp_path / "strangers"), "does not accept the certificate in"),
            (str(tmp_path / "none"), "none cannot be read"),
        ):
            monkeypatch.setenv("REGLUE_CERT", file)
            process = started(client, "agent", where, "")
            try:
                output = process.communicate(timeout=PATIENCE_S)[0].decode()
            finally:
                process.kill()
            assert process.returncode != 0
            assert part in output
        monkeypatch.setenv("REGLUE_CERT", str(tmp_path / "ours"))
        process = started(client, "agent", where, "")
        try:
            port = server.next("agent", PATIENCE_S)
            assert port is not None
            port.close("thank you")
            process.communicate(timeout=PATIENCE_S)
        finally:
            process.kill()
        assert process.returncode == 0
