"""The hub itself: where it listens, what it says of itself, and what it withstands."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from typing import Any

import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection_pb2, reflection_pb2_grpc

from glue_server.rpc import GlueServer
from reglue import connect
from reglue.errors import Busy, UsageError
from reglue.grpc_settings import grpc
from reglue.v1 import agent_pb2_grpc
from tests.glue_server.playing import Follower
from tests.glue_server.rpc.conftest import Join
from tests.glue_server.rpc.partners import PATIENCE_S, ask

PLACES = 64
SERVICES = ["reglue.v1.AgentService", "reglue.v1.LobbyService"]


# Where it listens.


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
def test_port_0_becomes_the_port_that_was_bound(host: str) -> None:
    with GlueServer(f"{host}:0") as server:
        name, _, port = server.address.rpartition(":")
        assert name == host
        assert int(port) > 0


@pytest.mark.parametrize(
    "listen", ["127.0.0.1", "127.0.0.1:", ":0", "", "127.0.0.1:http", "127.0.0.1:65536", "x:²"]
)
def test_an_address_that_is_none_is_refused(listen: str) -> None:
    """grpc itself takes port 65536 for port 0."""
    with pytest.raises(UsageError, match="wanted host:port"):
        GlueServer(listen)


def test_a_port_that_is_taken_is_refused(server: GlueServer) -> None:
    with pytest.raises(UsageError, match="is the port taken"):
        GlueServer(server.address)


def test_a_port_is_free_again_when_its_server_is_closed() -> None:
    with GlueServer() as server:
        address = server.address
    with GlueServer(address) as again:
        assert again.address == address


# What it says of itself.


@pytest.mark.parametrize("service", ["", *SERVICES])
def test_the_health_service_says_serving(channel: grpc.Channel, service: str) -> None:
    stub: Any = health_pb2_grpc.HealthStub(channel)  # its stubs are untyped
    answer = stub.Check(health_pb2.HealthCheckRequest(service=service), timeout=PATIENCE_S)
    assert answer.status == health_pb2.HealthCheckResponse.SERVING


def test_reflection_lists_the_services(channel: grpc.Channel) -> None:
    asking = reflection_pb2.ServerReflectionRequest(list_services="")
    stub: Any = reflection_pb2_grpc.ServerReflectionStub(channel)
    answers = stub.ServerReflectionInfo(iter([asking]), timeout=PATIENCE_S)
    listed = [each.name for each in next(answers).list_services_response.service]
    assert listed == [
        "grpc.health.v1.Health",
        "grpc.reflection.v1alpha.ServerReflection",
        *SERVICES,
    ]


# What it withstands.


@pytest.fixture
def open_idle(channel: grpc.Channel) -> Iterator[Callable[[str], Any]]:
    """Opens streams that never say hello; whoever drops one cancels it."""
    silent = threading.Event()
    stub = agent_pb2_grpc.AgentServiceStub(channel)
    yield lambda session: stub.Connect(
        (reply for reply in iter(silent.wait, True)), metadata=[("reglue-session", session)]
    )
    silent.set()


@pytest.fixture
def full(
    server: GlueServer, channel: grpc.Channel, open_idle: Callable[[str], Any]
) -> Iterator[list[Any]]:
    """Idle streams, of holders of tickets, in all the places that the server has."""
    tickets = [ask(channel, token=server.token) for _ in range(2 * PLACES)]
    streams, turned_away = [], 0
    for ticket in tickets:
        streams.append(open_idle(ticket.session))
        turned_away = turned_away + 1 if is_full(server) else 0
        if turned_away == 8:  # once may be a place that is about to be free
            break
    else:
        raise AssertionError("the server takes any number")
    yield streams
    for stream in streams:
        stream.cancel()


def is_full(server: GlueServer) -> bool:
    """Whether a stranger is turned away before the token is looked at."""
    with grpc.insecure_channel(server.address) as channel, pytest.raises(grpc.RpcError) as error:
        ask(channel, token="guess")
    return error.value.code() is grpc.StatusCode.RESOURCE_EXHAUSTED


def test_strangers_streams_hold_nothing(
    server: GlueServer, open_idle: Callable[[str], Any], join: Join
) -> None:
    """Without a ticket a stream is closed at once, however many there are."""
    streams = [open_idle("no ticket") for _ in range(PLACES)]
    for stream in streams:
        with pytest.raises(grpc.RpcError):
            next(stream)
    assert served(server, join(Follower(), patience_s=PATIENCE_S))


def served(server: GlueServer, agent: Future[str]) -> bool:
    port = server.agent(PATIENCE_S)
    assert port is not None
    port.close("served")
    return agent.result(PATIENCE_S) == "served"


def test_a_client_of_a_full_server_is_told_so(server: GlueServer, full: list[Any]) -> None:
    """It is not left waiting for a thread that never comes free."""
    with pytest.raises(Busy, match=r"no connection to spare within 0.3 s"):
        connect(Follower(), server.address, server.token, patience_s=0.3)


def test_a_client_of_a_full_server_is_served_when_the_others_leave(
    server: GlueServer, full: list[Any], join: Join
) -> None:
    agent = join(Follower(), patience_s=PATIENCE_S)
    for stream in full:
        stream.cancel()
    assert served(server, agent)


def test_nobody_came_is_told_by_none(server: GlueServer) -> None:
    assert server.agent(0.0) is None


def test_a_server_with_an_agent_can_be_closed(join: Join, server: GlueServer) -> None:
    join(Follower())
    assert server.agent(PATIENCE_S) is not None
    server.close()
