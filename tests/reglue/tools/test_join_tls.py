"""`reglue join` over TLS: whom a fresh process trusts."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from glue_server.rpc import GlueServer
from glue_server.rpc.tls.authority import private_authority
from reglue.net.join_string import to_pem
from tests.glue_server.rpc.peers import seated
from tests.glue_server.rpc.tls_certificates import certificate, shown, written
from tests.reglue.join_processes import Join, left, play

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("tidy")]


@pytest.fixture
def roots(tmp_path: Path) -> Path:
    """Of other authorities: what an administrator may have told every gRPC program."""
    return written(tmp_path, roots=to_pem(private_authority().authority))["roots"]


def test_a_join_string_is_enough(join: Join, roots: Path) -> None:
    with GlueServer(tls=private_authority()) as server:
        process = join(
            "agents.py:Still",
            REGLUE_ADDRESS=str(server.join_string("agent")),
            REGLUE_TOKEN="",
            GRPC_DEFAULT_SSL_ROOTS_FILE_PATH=str(roots),
        )
        play(server).close("well played")
        assert left(process) == (0, "reglue join: well played\n")


def test_authority_and_name_can_be_options(join: Join, tmp_path: Path) -> None:
    root = certificate("root")
    tls = shown(certificate("leaf", by=root, hosts=("hub.example.org",)), root, "hub.example.org")
    ca = written(tmp_path, ca=root.pem)["ca"]
    with GlueServer(tls=tls) as server:
        process = join(
            "agents.py:Still",
            *("--ca", str(ca), "--tls-name", "hub.example.org"),
            REGLUE_ADDRESS=server.address,
            REGLUE_TOKEN=server.token,
        )
        seated(server).close("done")
        assert left(process)[0] == 0


def test_roots_of_the_environment_are_not_trusted(join: Join, tmp_path: Path) -> None:
    tls = private_authority()
    roots = written(tmp_path, roots=to_pem(tls.authority))["roots"]
    with GlueServer(tls=tls) as server:
        stranger = replace(server.join_string("agent"), authority=private_authority().authority)
        code, words = left(
            join(
                "agents.py:Still",
                *("--address", str(stranger)),
                GRPC_DEFAULT_SSL_ROOTS_FILE_PATH=str(roots),
            )
        )
    assert code == 2
    assert "is not signed by the authority that you trust" in words
