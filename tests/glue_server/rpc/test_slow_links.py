"""Messages that take long on their way: pings wait behind them, and are answered late."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from glue_server.conformance.tcp_proxy import TcpProxy
from glue_server.rpc import GlueServer
from glue_server.timeouts import Timeouts
from reglue.messages.agent_messages import Budget, TextMessage
from reglue.net.grpc_settings import HUB_MESSAGE_BYTES, MESSAGE_S, channel_options
from tests.glue_server.rpc.peers import seated
from tests.reglue.connecting import Start, Still
from tests.waiting import PATIENCE_S, until

pytestmark = pytest.mark.slow

FASTER = 40  # than in earnest

TIMES = ("grpc.keepalive_time_ms", "grpc.keepalive_timeout_ms", "grpc.http2.ping_timeout_ms")


@pytest.fixture
def faster(monkeypatch: pytest.MonkeyPatch) -> None:
    """A server whose pings come, and are given up, so much sooner."""
    real = channel_options(HUB_MESSAGE_BYTES)
    options = [(name, value // FASTER if name in TIMES else value) for name, value in real]
    monkeypatch.setattr("glue_server.rpc.server.channel_options", lambda _: options)


@pytest.fixture
def server() -> Iterator[GlueServer]:
    with GlueServer(transport="grpc", places={"agent": 1}, reconnect_window_s=PATIENCE_S) as server:
        yield server


@contextmanager
def joined(start: Start, server: GlueServer, proxy: TcpProxy) -> Iterator[Any]:
    """The port of an agent that has joined through the proxy, and leaves at the end."""
    peer = start(Still(), proxy.address, server.tokens["agent"], transport="grpc")
    port = seated(server)
    yield port
    port.close("that was all")
    assert peer.result(PATIENCE_S) == "that was all"


@pytest.mark.usefixtures("faster")
def test_an_answer_that_takes_longer_than_a_ping_arrives(start: Start) -> None:
    """The proxy holds what the agent says, as a slow link does, for 80 s in earnest."""
    with (
        GlueServer(transport="grpc", places={"agent": 1}) as server,
        TcpProxy(server.address) as proxy,
        joined(start, server, proxy) as port,
    ):
        connections = proxy.connections
        proxy.takes.clear()
        port.send(TextMessage("hello"), Budget())
        time.sleep(80 / FASTER)
        proxy.takes.set()
        assert isinstance(port.receive(PATIENCE_S), TextMessage)
        assert proxy.connections == connections


def test_a_message_may_take_as_long_as_a_step_may_by_default() -> None:
    assert dict(channel_options(1))["grpc.http2.ping_timeout_ms"] == 1000 * MESSAGE_S
    assert Timeouts().first_step_s <= MESSAGE_S


def test_connections_over_which_nothing_comes_are_explained(
    start: Start, server: GlueServer, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING, "reglue")

    def told(what: str) -> list[str]:
        return [each.getMessage() for each in caplog.records if what in each.getMessage()]

    with TcpProxy(server.address) as proxy, joined(start, server, proxy) as port:
        port.send(TextMessage("hello"), Budget())
        assert isinstance(port.receive(PATIENCE_S), TextMessage)
        for count in range(1, 5):
            proxy.cut()
            for what in ("lost the connection", "connected again"):
                until(lambda: len(told(what)) == count, what)  # noqa: B023
    explained = [f"{MESSAGE_S} s" in words for words in told("lost the connection")]
    assert explained == [False, False, False, True]  # a message came over the first
