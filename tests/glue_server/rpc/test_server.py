"""The hub itself: where it listens, what it says of itself, and what it withstands."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc

from glue_server.rpc import GlueServer, handlers, services
from glue_server.rpc.admission import Lobby
from reglue import connect
from reglue.errors import BadArgument, UsageError
from reglue.net.grpc_settings import grpc
from reglue.v1 import agent_pb2_grpc
from tests.error_facts import raises
from tests.glue_server.playing import Follower
from tests.glue_server.rpc.conftest import Dial, Join
from tests.glue_server.rpc.peers import (
    CHECK,
    JOIN,
    PATIENCE_S,
    REFLECTION,
    SESSION,
    ask,
    denied,
    seated,
)
from tests.waiting import until

PLACES = 64
METHODS = (JOIN, CHECK)
OpenCalls = Callable[[str, int], list[Any]]
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
    with raises(BadArgument, "host:port", got=f"address {listen!r}"):
        GlueServer(listen)


def test_a_port_that_is_taken_is_refused(server: GlueServer) -> None:
    with raises(UsageError, server.address, "port"):
        GlueServer(server.address).close()


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


def test_the_health_of_a_service_that_is_not_there_is_not_found(channel: grpc.Channel) -> None:
    stub: Any = health_pb2_grpc.HealthStub(channel)
    with denied("NOT_FOUND"):
        stub.Check(health_pb2.HealthCheckRequest(service="none"), timeout=PATIENCE_S)


# What it withstands.


@pytest.fixture
def open_idle(channel: grpc.Channel) -> Iterator[Callable[[str], Any]]:
    """Opens streams that never say hello; whoever drops one cancels it."""
    silent = threading.Event()
    stub = agent_pb2_grpc.AgentServiceStub(channel)
    yield lambda session: stub.Session(
        (reply for reply in iter(silent.wait, True)), metadata=[("reglue-session", session)]
    )
    silent.set()


@pytest.fixture
def open_calls(channel: grpc.Channel) -> Iterator[OpenCalls]:
    """Opens that many calls of a method that send headers and no message."""
    silent = threading.Event()
    calls: list[Any] = []

    def open_calls(method: str, count: int) -> list[Any]:
        call: Any = channel.stream_unary(method)
        opened = [call.future(m for m in iter(silent.wait, True)) for _ in range(count)]
        calls.extend(opened)
        return opened

    yield open_calls
    silent.set()
    for call in calls:
        call.cancel()


def test_strangers_streams_hold_nothing(
    server: GlueServer, open_idle: Callable[[str], Any], join: Join
) -> None:
    """Without a ticket a stream is closed at once, however many there are."""
    streams = [open_idle("no ticket") for _ in range(PLACES)]
    for stream in streams:
        with denied("UNAUTHENTICATED"):
            next(stream)
    assert served(server, join(Follower(), connect_timeout_s=PATIENCE_S))


def served(server: GlueServer, agent: Future[str]) -> bool:
    port = seated(server)
    port.close("served")
    return agent.result(PATIENCE_S) == "served"


def test_calls_without_a_message_lock_nobody_out(
    server: GlueServer, open_calls: OpenCalls, join: Join, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They make way, long before their time is up."""
    monkeypatch.setattr(handlers, "MESSAGE_S", 1000.0)
    for method in METHODS:
        open_calls(method, PLACES)
    assert served(server, join(Follower(), connect_timeout_s=PATIENCE_S))


@pytest.mark.parametrize("method", METHODS)
def test_a_call_without_a_message_is_ended(
    open_calls: OpenCalls, method: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By the server: the caller has set no deadline."""
    monkeypatch.setattr(handlers, "MESSAGE_S", 0.2)
    (call,) = open_calls(method, 1)
    assert call.exception(PATIENCE_S).code() is grpc.StatusCode.CANCELLED


def test_an_address_has_so_many_calls_at_a_time(open_calls: OpenCalls) -> None:
    calls = open_calls(CHECK, 4 * PLACES)
    codes = {call.exception(PATIENCE_S).code() for call in calls}
    assert grpc.StatusCode.RESOURCE_EXHAUSTED in codes
    ended = {grpc.StatusCode.CANCELLED, grpc.StatusCode.UNAVAILABLE}  # by us, or by grpc itself
    assert codes <= ended | {grpc.StatusCode.RESOURCE_EXHAUSTED}


def test_streams_that_never_say_hello_lock_nobody_out(
    server: GlueServer, channel: grpc.Channel, open_idle: Callable[[str], Any], join: Join
) -> None:
    """Nor those of ticket holders."""
    tickets = [ask(channel, token=server.token) for _ in range(PLACES)]
    streams = [open_idle(ticket.session) for ticket in tickets]
    assert served(server, join(Follower(), connect_timeout_s=PATIENCE_S))
    del streams  # held until here: a dropped stream is cancelled


def test_a_stream_that_never_says_hello_is_ended(
    channel: grpc.Channel,
    server: GlueServer,
    open_idle: Callable[[str], Any],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(services, "HELLO_S", 0.2)
    stream = open_idle(ask(channel, token=server.token).session)
    until(stream.done, "it is ended", PATIENCE_S)
    assert stream.code() is grpc.StatusCode.DEADLINE_EXCEEDED


@pytest.mark.parametrize(("limit", "shares"), [("_STREAMS", True), ("_SESSIONS", False)])
def test_a_session_and_a_role_have_a_few_streams_at_a_time(
    channel: grpc.Channel,
    server: GlueServer,
    open_idle: Callable[[str], Any],
    monkeypatch: pytest.MonkeyPatch,
    limit: str,
    shares: bool,
) -> None:
    monkeypatch.setattr(handlers, limit, 3)
    session = ask(channel, token=server.token).session
    streams: list[Any] = []
    deadline = time.monotonic() + PATIENCE_S
    while not any(stream.done() for stream in streams):
        assert time.monotonic() < deadline, "it takes any number"
        streams.append(open_idle(session if shares else ask(channel, token=server.token).session))
        is_over(streams[-1])
    codes = {stream.code() for stream in streams if stream.done()}
    assert codes == {grpc.StatusCode.RESOURCE_EXHAUSTED}


def is_over(stream: Any) -> bool:
    """Whether the server has ended it within a moment."""
    over = threading.Event()
    return not stream.add_callback(over.set) or over.wait(0.1)


def test_many_agents_may_wait() -> None:
    many = 100
    with (
        GlueServer(places={"agent": many}, transport="grpc") as server,
        ThreadPoolExecutor(many) as threads,
    ):
        agents = [
            threads.submit(connect, Follower(), server.address, server.token, connect_timeout_s=60)
            for _ in range(many)
        ]
        ports = [server.next("agent", 3 * PATIENCE_S) for _ in range(many)]
        for port in ports:
            assert port is not None
            port.close("served")
        assert {agent.result(PATIENCE_S) for agent in agents} == {"served"}


@pytest.mark.parametrize("method", METHODS)
def test_what_cannot_be_read_is_refused(
    channel: grpc.Channel, method: str, caplog: pytest.LogCaptureFixture
) -> None:
    """One line says it, however often it comes."""
    as_bytes: Any = channel.unary_unary(method)
    for _ in range(3):
        with denied("INVALID_ARGUMENT"):
            as_bytes(b"\xff\xff", timeout=PATIENCE_S)
    ours = [record.levelname for record in caplog.records if record.name == "reglue"]
    assert ours == ["WARNING"]


def test_a_stream_that_cannot_be_read_is_ended_and_said(
    server: GlueServer, channel: grpc.Channel, caplog: pytest.LogCaptureFixture
) -> None:
    session = ask(channel, token=server.token).session
    as_bytes: Any = channel.stream_stream(SESSION)
    stream = as_bytes(
        iter([b"\xff\xff"]), metadata=[("reglue-session", session)], timeout=PATIENCE_S
    )
    with denied("INVALID_ARGUMENT", "hello"):
        next(stream)
    assert "could not be read" in caplog.text


def test_a_caller_that_speaks_another_protocol_is_told_of(
    channel: grpc.Channel, caplog: pytest.LogCaptureFixture
) -> None:
    """One line says it, however often it comes."""
    as_bytes: Any = channel.stream_stream("/dm_env_rpc.v1.Environment/Process")
    for _ in range(3):
        with denied("UNIMPLEMENTED"):
            next(as_bytes(iter([b""]), timeout=PATIENCE_S))
    [record] = caplog.records
    assert "'/dm_env_rpc.v1.Environment/Process'" in record.message


@pytest.mark.parametrize("transport", ["grpc"])  # the peer at a Unix socket is not told
def test_our_own_failure_is_logged_with_its_lines_and_a_peer_that_leaves_is_not(
    server: GlueServer,
    dial: Dial,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    leaving = dial()
    port: Any = server.next("agent", PATIENCE_S)
    leaving.vanish()
    until(lambda: port.is_gone, "the agent is gone")
    server.release(port)
    assert not caplog.records

    def admit(*_: object) -> None:
        raise RuntimeError("ours")

    monkeypatch.setattr(Lobby, "admit", admit)
    with denied("INTERNAL", "our own failure"):
        dial().hear()  # after it was logged
    assert "our own failure" in caplog.text
    assert "RuntimeError: ours" in caplog.text


def test_large_joins_are_refused(channel: grpc.Channel, server: GlueServer) -> None:
    with denied("INVALID_ARGUMENT", "at most 65536"):
        ask(channel, token=server.token, name="x" * 100_000)


def test_nobody_came_is_told_by_none(server: GlueServer) -> None:
    assert server.next("agent", 0.0) is None


def test_a_server_with_an_agent_can_be_closed(join: Join, server: GlueServer) -> None:
    join(Follower())
    assert server.next("agent", PATIENCE_S) is not None
    server.close()


# What it shows of itself.


@pytest.mark.parametrize("shown", [False, True])
def test_reflection_is_served_only_if_it_is_asked_for(shown: bool) -> None:
    reflection_pb2 = pytest.importorskip("grpc_reflection.v1alpha.reflection_pb2")
    with (
        GlueServer(places={"agent": 1}, reflection=shown) as server,
        grpc.insecure_channel(server.address) as channel,
    ):
        ask_for = channel.stream_stream(
            REFLECTION,
            request_serializer=reflection_pb2.ServerReflectionRequest.SerializeToString,
            response_deserializer=reflection_pb2.ServerReflectionResponse.FromString,
        )
        asked = {"list_services": ""}, {"file_containing_symbol": "reglue.v1.LobbyService"}
        requests = [reflection_pb2.ServerReflectionRequest(**each) for each in asked]
        answers = ask_for(iter(requests), timeout=PATIENCE_S)
        if not shown:
            with denied("UNIMPLEMENTED"):
                next(answers)
            return
        named = {each.name for each in next(answers).list_services_response.service}
        assert {*SERVICES, "grpc.health.v1.Health"} <= named
        assert next(answers).file_descriptor_response.file_descriptor_proto
