"""Joining a glue from a program in each language."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from glue_server.rpc import GlueServer
from glue_server.rpc.admission import Denied, Lobby
from reglue.net.grpc_settings import grpc
from reglue.v1 import lobby_pb2
from tests.agent_clients.client_programs import (
    LANGUAGES,
    PATIENCE_S,
    conformance_program,
    started,
)

pytestmark = pytest.mark.timeout(900)  # the first test compiles clients

TRIES = 3


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_join_that_is_repeated_after_a_lost_answer_gets_its_first_ticket(
    language: str, libreglue: Mapping[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another program of the same role gets another one."""
    sessions: list[str] = []
    join_once = Lobby.join

    def lossy(lobby: Lobby, request: lobby_pb2.JoinRequest) -> lobby_pb2.Ticket:
        ticket = join_once(lobby, request)
        sessions.append(ticket.session)
        if len(sessions) % TRIES:
            raise Denied(grpc.StatusCode.RESOURCE_EXHAUSTED, "the answer is lost")
        return ticket

    monkeypatch.setattr(Lobby, "join", lossy)
    command = conformance_program(language, "agent")
    with GlueServer(places={"agent": 2}) as server:
        for _ in range(2):
            with started(command, server.address, server.token, **libreglue):
                assert server.next("agent", PATIENCE_S) is not None
    first, second = sessions[:TRIES], sessions[TRIES:]
    assert len(second) == TRIES
    assert (len({*first}), len({*second}), len({*sessions})) == (1, 1, 2)
