"""A peer whose session a glue has forgotten, at a glue that then answers no more."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

import reglue
from reglue.errors import WrongToken
from reglue.net.grpc_settings import grpc
from reglue.v1 import agent_pb2, agent_pb2_grpc, lobby_pb2, lobby_pb2_grpc
from tests.error_facts import raises
from tests.reglue.connecting import Still


class ForgetfulGlue(lobby_pb2_grpc.LobbyServiceServicer, agent_pb2_grpc.AgentServiceServicer):
    """Gives one ticket, does not know its session, and answers nobody after that."""

    def __init__(self) -> None:
        self.has_joined = False
        self.closes = threading.Event()

    def Join(  # noqa: N802
        self, request: lobby_pb2.JoinRequest, context: grpc.ServicerContext
    ) -> lobby_pb2.Ticket:
        """The ticket."""
        if self.has_joined:
            self.closes.wait()
        self.has_joined = True
        return lobby_pb2.Ticket(session="session", reconnect_window_us=1_000_000)

    def Session(  # noqa: N802
        self, request_iterator: Iterator[agent_pb2.AgentReply], context: grpc.ServicerContext
    ) -> Iterator[agent_pb2.AgentCall]:
        """The refusal."""
        context.abort(grpc.StatusCode.UNAUTHENTICATED, "no such session")


@pytest.fixture
def address() -> Iterator[str]:
    """Of such a glue."""
    glue = ForgetfulGlue()
    with ThreadPoolExecutor(4) as pool:
        server = grpc.server(pool)
        lobby_pb2_grpc.add_LobbyServiceServicer_to_server(glue, server)
        agent_pb2_grpc.add_AgentServiceServicer_to_server(glue, server)
        port = server.add_insecure_port("127.0.0.1:0")
        server.start()
        yield f"127.0.0.1:{port}"
        glue.closes.set()
        server.stop(None).wait()


def test_the_last_refusal_is_raised_where_no_glue_answers_later(address: str) -> None:
    with raises(WrongToken, "no such session"):
        reglue.connect(Still(), address=address, token="token", connect_timeout_s=1.0)
