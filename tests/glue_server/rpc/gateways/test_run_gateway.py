"""The front of a hub whose runs live in processes of their own: what a run's answer means."""

from __future__ import annotations

import logging
import math
import signal
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from typing import Any

import pytest

from glue_server.peers.hub import ROLES
from glue_server.processes.interrupts import CLOSING_S, uninterrupted
from glue_server.rpc import GlueServer
from glue_server.rpc.admission import Denied
from glue_server.rpc.gateways import run_gateway
from glue_server.rpc.gateways.run_gateway import Gateway, GatewayServer
from reglue.net.grpc_settings import grpc
from reglue.net.join_string import JoinString
from reglue.v1 import lobby_pb2
from tests.error_facts import raises
from tests.glue_server.rpc.peers import PATIENCE_S, RawAgent
from tests.waiting import until

pytestmark = pytest.mark.slow

WANTED = lobby_pb2.JoinRequest(major=1, role=lobby_pb2.ROLE_AGENT, name="raw", token="mine")


class Run:
    """A run at a server of this process."""

    public_address = ""
    ended_within_s = math.inf

    def __init__(self, server: GlueServer, join_string: JoinString) -> None:
        self.server = server
        self.join_string = join_string

    def is_alive(self) -> bool:
        return True

    def leave(self) -> None:
        """Its server is a fixture's."""

    def end(self, within_s: float) -> None:
        self.ended_within_s = within_s


class Begin(list[Run]):
    """Begins these runs, in their order."""

    def __call__(self) -> Run:
        return self.pop(0)

    def stop(self) -> None:
        """None is beginning."""


@pytest.fixture
def run() -> Iterator[Callable[..., Run]]:
    """A run with a place for one of each role; with a `token` it lets nobody of it in."""
    with ExitStack() as servers:

        def run(token: str | None = None) -> Run:
            server = servers.enter_context(GlueServer(places=dict.fromkeys(ROLES, 1)))
            own = server.local_join_string("agent")
            return Run(server, own if token is None else JoinString(own.address, token))

        yield run


def test_a_run_that_denies_a_join_is_no_reason_to_begin_another(
    run: Callable[..., Run], caplog: pytest.LogCaptureFixture
) -> None:
    """It is our own failure, and is logged as one."""
    begin = Begin([run(token="another"), run()])
    with (
        closing(Gateway({"agent": "mine"}, begin=begin, most=2)) as front,
        caplog.at_level(logging.ERROR, "reglue"),
        pytest.raises(Denied) as denied,
    ):
        front.join(WANTED)
    assert denied.value.code is grpc.StatusCode.UNAUTHENTICATED
    assert "a run's process denied a join: wrong token" in caplog.text
    assert len(begin) == 1


def test_there_are_so_many_runs_at_a_time(run: Callable[..., Run]) -> None:
    """Each has one place, which is kept for a while for who has asked for it."""
    begin = Begin([run(), run(), run()])
    with closing(Gateway({"agent": "mine"}, begin=begin, most=2)) as front:
        assert front.join(WANTED).session != front.join(WANTED).session
        with raises(Denied, "2 runs", code=grpc.StatusCode.RESOURCE_EXHAUSTED):
            front.join(WANTED)
    assert len(begin) == 1


def test_the_oldest_tickets_are_forgotten(
    run: Callable[..., Run], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run_gateway, "_PROMISED_S", 0.0)  # one run hands out many
    monkeypatch.setattr(run_gateway, "_ROUTES", 2)
    with closing(Gateway({"agent": "mine"}, begin=Begin([run()]), most=1)) as front:
        first, second, third = (front.join(WANTED).session for _ in range(3))
        with raises(Denied, "ticket", code=grpc.StatusCode.UNAUTHENTICATED):
            front.run_of(first)
        assert front.run_of(second) is front.run_of(third)


def test_runs_have_what_time_ctrl_c_leaves(run: Callable[..., Run]) -> None:
    begun = run()
    with (
        uninterrupted(then_raise=False),
        closing(Gateway({"agent": "mine"}, begin=Begin([begun]), most=2)) as front,
    ):
        front.join(WANTED)
        signal.raise_signal(signal.SIGINT)
    assert begun.ended_within_s <= CLOSING_S


def test_a_peer_that_vanishes_is_no_failure_of_the_gateway(
    run: Callable[..., Run], caplog: pytest.LogCaptureFixture
) -> None:
    begun = run()
    with (
        GatewayServer("127.0.0.1:0", begin=Begin([begun]), most=1) as front,
        grpc.insecure_channel(front.address) as channel,
    ):
        agent = RawAgent(channel, front.tokens["agent"])
        port: Any = begun.server.next("agent", PATIENCE_S)
        agent.vanish()
        until(lambda: port.is_gone, "it is gone")
    assert not caplog.records
