"""Clients in every language join by a Unix socket, where no network is."""

from __future__ import annotations

from dataclasses import replace

import pytest

from glue_server.rpc import GlueServer
from glue_server.rpc.tls.authority import private_authority
from reglue.net.join_string import LOBBY
from tests.agent_clients.client_programs import LANGUAGES
from tests.agent_clients.test_words import PATIENCE_S, started
from tests.leftovers import nothing_left

pytestmark = [
    pytest.mark.timeout(900),  # the first test compiles clients
    pytest.mark.usefixtures("julia_finds_libreglue"),
]


@pytest.mark.parametrize("tls", [False, True])
@pytest.mark.parametrize("client", LANGUAGES)
def test_an_agent_joins_by_a_unix_socket(client: str, *, tls: bool) -> None:
    authority = private_authority() if tls else None
    with nothing_left(), GlueServer(tls=authority, transport="unix") as server:
        assert server.sockets is not None
        where = replace(server.join_string("agent"), address=f"unix:{server.sockets / LOBBY}")
        process = started(client, "agent", str(where), "")
        try:
            port = server.next("agent", PATIENCE_S)
            assert port is not None, process.communicate(timeout=PATIENCE_S)[0].decode()
            port.close("thank you")
            process.communicate(timeout=PATIENCE_S)
        finally:
            process.kill()
        assert process.returncode == 0


@pytest.mark.parametrize("client", LANGUAGES)
def test_tls_that_a_socket_speaks_is_told(client: str) -> None:
    with nothing_left(), GlueServer(tls=private_authority(), transport="unix") as server:
        assert server.sockets is not None
        where = server.join_string("agent")
        socket = f"unix:{server.sockets / LOBBY}"
        for told, part in (
            (replace(where, address=socket, authority=b"", tls_name=""), "speaks TLS"),
            (replace(where, address=socket, tls_name="other"), "is not made out to"),
        ):
            process = started(client, "agent", str(told), "")
            try:
                output = process.communicate(timeout=PATIENCE_S)[0].decode()
            finally:
                process.kill()
            assert process.returncode != 0
            assert part in output
