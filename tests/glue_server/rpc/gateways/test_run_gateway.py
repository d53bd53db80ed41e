"""The front of a hub whose runs live in processes of their own: what a run's answer means."""

from __future__ import annotations

import logging
import math
import signal
import socket
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing
from queue import Empty, SimpleQueue
from typing import Any

import pytest

from glue_server.peers.hub import ROLES
from glue_server.processes.interrupts import CLOSING_S, uninterrupted
from glue_server.rpc import GlueServer
from glue_server.rpc.admission import Denied
from glue_server.rpc.gateways import run_gateway
from glue_server.rpc.gateways.run_gateway import Gateway, GatewayServer
from reglue.errors import UsageError
from reglue.net.grpc_settings import grpc
from reglue.net.join_string import JoinString
from reglue.v1 import lobby_pb2
from tests.error_facts import raises
from tests.glue_server.rpc.peers import PATIENCE_S, RawAgent
from tests.waiting import until

pytestmark = pytest.mark.slow

WANTED = lobby_pb2.JoinRequest(major=1, role=lobby_pb2.ROLE_AGENT, name="raw", token="mine")


class Run:
    """A run in this process. `says` sends the roles that are in it."""

    public_address = ""

    def __init__(self, join_string: JoinString, server: GlueServer | None = None) -> None:
        self.server = server
        self.join_string = join_string
        self.ended_within_s = math.inf
        self.sent_away: list[str] = []
        self._news: SimpleQueue[list[str] | None] = SimpleQueue()

    def says(self, *here: str) -> None:
        self._news.put([*here])

    def news(self, within_s: float) -> list[str] | None:
        try:
            here = self._news.get(timeout=within_s)
        except Empty:
            return None
        if here is None:
            raise EOFError
        return here

    def send_away(self, role: str) -> None:
        self.sent_away.append(role)

    def is_alive(self) -> bool:
        return math.isinf(self.ended_within_s)

    def leave(self) -> None:
        self._news.put(None)

    def end(self, within_s: float) -> None:
        self.ended_within_s = min(self.ended_within_s, within_s)


class Begin(list[Run]):
    """Begins these runs, in their order."""

    def __call__(self) -> Run:
        return self.pop(0)

    def stop(self) -> None:
        """None is beginning."""


class Clock:
    """A clock that stands still until it is set."""

    now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def run() -> Iterator[Callable[..., Run]]:
    """A run with a place for one of each role; with a `token` it lets nobody of it in."""
    with ExitStack() as servers:

        def run(token: str | None = None) -> Run:
            server = servers.enter_context(
                GlueServer(places=dict.fromkeys(ROLES, 1), token=dict.fromkeys(ROLES, "secret"))
            )
            own = server.local_join_string("agent")
            tokens = JoinString(own.address, own.token if token is None else token)
            return Run(tokens, server)

        yield run


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def silent(monkeypatch: pytest.MonkeyPatch) -> Iterator[Run]:
    """A run that is stopped: the kernel accepts connections, and nobody answers."""
    monkeypatch.setattr(run_gateway, "JOIN_S", 0.3)
    with socket.create_server(("127.0.0.1", 0)) as nobody:
        yield Run(JoinString(f"127.0.0.1:{nobody.getsockname()[1]}", "secret"))


@pytest.fixture
def make_gateway(clock: Clock) -> Iterator[Callable[..., Gateway]]:
    """A gateway in front of these runs."""
    with ExitStack() as closing_:

        def made(*runs: Run, most: int = 8) -> Gateway:
            tokens = dict.fromkeys(ROLES, "mine")
            gateway = Gateway(tokens, begin=Begin(runs), most=most, clock=clock)
            return closing_.enter_context(closing(gateway))

        yield made


def wanted(role: str, client: str = "") -> lobby_pb2.JoinRequest:
    return lobby_pb2.JoinRequest(major=1, role=f"ROLE_{role.upper()}", token="mine", client=client)


def place(gateway: Gateway, role: str, client: str = "") -> Run:
    """The run that a peer gets."""
    found: Any = gateway.run_of(gateway.join(wanted(role, client)).session)
    run: Run = found.process
    return run


def heard(gateway: Gateway, run: Run, *here: str) -> None:
    """The gateway knows that these are in the run."""
    run.says(*here)
    until(
        lambda: any(each.process is run and [*each.here] == [*here] for each in gateway._runs),
        "it is heard",
    )


# Runs that do not answer.


def test_a_run_that_does_not_answer_is_waited_for(
    make_gateway: Callable[..., Gateway], run: Callable[..., Run], silent: Run
) -> None:
    """No other run begins, as peers would be in two."""
    begin = [silent, run()]
    gateway = make_gateway(*begin)
    for role in ("agent", "environment", "agent", "experiment"):
        with raises(Denied, "not answer yet", code=grpc.StatusCode.RESOURCE_EXHAUSTED):
            gateway.join(wanted(role))
    assert len(gateway._runs) == 1


def test_a_run_that_begins_slowly_is_waited_for(
    run: Callable[..., Run], clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run_gateway, "JOIN_S", 0.1)
    begins = threading.Event()

    class Slow(Begin):
        def __call__(self) -> Run:
            assert begins.wait(PATIENCE_S)
            return super().__call__()

    only = run()
    with closing(Gateway({"agent": "mine"}, begin=Slow([only]), most=8, clock=clock)) as gateway:
        for _ in range(2):
            with raises(Denied, "not answer yet", code=grpc.StatusCode.RESOURCE_EXHAUSTED):
                gateway.join(WANTED)
            clock.now += 1e6
            gateway.review()
        begins.set()
        monkeypatch.setattr(run_gateway, "JOIN_S", PATIENCE_S)
        assert place(gateway, "agent") is only


def test_a_gateway_that_closes_ends_its_runs_also_while_others_wait_to_begin(
    run: Callable[..., Run], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Peers that ask then are told to try again."""
    monkeypatch.setattr(run_gateway, "JOIN_S", PATIENCE_S)
    is_stopped = threading.Event()

    class OneBegins(Begin):
        def __call__(self) -> Run:
            if self:
                return super().__call__()
            assert is_stopped.wait(PATIENCE_S)
            raise UsageError("no more runs")

        def stop(self) -> None:
            is_stopped.set()

    gateway = Gateway({"agent": "mine"}, begin=OneBegins([first := run()]), most=3)
    gateway.join(WANTED)
    with ThreadPoolExecutor(2) as peers:
        asked = [peers.submit(gateway.join, WANTED) for _ in "23"]
        until(lambda: len(gateway._runs) == 3, "two runs are to begin, one after the other")
        gateway.close()
        refused = [each.exception(PATIENCE_S) for each in asked]
    assert [each.code for each in refused if isinstance(each, Denied)] == [
        *(2 * [grpc.StatusCode.RESOURCE_EXHAUSTED])
    ]
    assert not first.is_alive()
    with raises(Denied, "closes", code=grpc.StatusCode.RESOURCE_EXHAUSTED):
        gateway.join(WANTED)


def test_a_run_that_never_answers_is_ended_and_its_peers_meet_in_the_next_one(
    make_gateway: Callable[..., Gateway],
    run: Callable[..., Run],
    clock: Clock,
    silent: Run,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    gateway = make_gateway(silent, following := run())
    with pytest.raises(Denied):
        gateway.join(wanted("agent"))
    heard(gateway, silent, "environment")  # before it was stopped
    with pytest.raises(Denied):
        gateway.join(wanted("agent"))
    clock.now += 29.0
    gateway.review()
    assert silent.is_alive()
    clock.now += 1.0
    gateway.review()
    assert not silent.is_alive()
    monkeypatch.setattr(run_gateway, "JOIN_S", PATIENCE_S)
    assert {place(gateway, role) for role in ROLES} == {following}


def test_a_run_that_plays_may_be_silent_for_ever(
    make_gateway: Callable[..., Gateway], run: Callable[..., Run], clock: Clock
) -> None:
    gateway = make_gateway(first := run(), second := run())
    assert place(gateway, "agent") is first
    heard(gateway, first, *ROLES)
    clock.now += 1e6
    gateway.review()
    assert first.is_alive()
    assert place(gateway, "agent") is second


# Where peers are placed.


def test_a_peer_goes_to_the_oldest_run_that_lacks_its_role(
    make_gateway: Callable[..., Gateway], run: Callable[..., Run]
) -> None:
    gateway = make_gateway(first := run(), second := run(), third := run())
    roles = ["agent", "agent", "environment", "experiment", "experiment", "environment", "agent"]
    assert [place(gateway, role) for role in roles] == [
        *(first, second, first, first, second, second, third)
    ]


def test_a_client_that_asks_again_gets_its_ticket_again(
    make_gateway: Callable[..., Gateway], run: Callable[..., Run]
) -> None:
    gateway = make_gateway(run(), run())
    first, again = (gateway.join(wanted("agent", "me")) for _ in "12")
    assert first == again
    assert gateway.join(wanted("agent", "another")) != first
    assert len(gateway._runs) == 2


def test_a_place_is_another_peers_when_its_holder_does_not_come(
    make_gateway: Callable[..., Gateway], run: Callable[..., Run], clock: Clock
) -> None:
    gateway = make_gateway(first := run(), second := run())
    assert place(gateway, "agent") is first
    clock.now += 9.9
    assert place(gateway, "agent") is second
    clock.now += 0.1
    assert place(gateway, "agent") is first


def test_a_place_is_another_peers_when_its_holder_has_left(
    make_gateway: Callable[..., Gateway], run: Callable[..., Run]
) -> None:
    gateway = make_gateway(first := run())
    assert place(gateway, "agent") is first
    heard(gateway, first, "agent")
    heard(gateway, first)
    assert place(gateway, "agent") is first


def test_a_run_with_a_program_fills_up_first(
    make_gateway: Callable[..., Gateway], run: Callable[..., Run]
) -> None:
    gateway = make_gateway(first := run(), second := run())
    assert [place(gateway, "agent"), place(gateway, "agent")] == [first, second]
    heard(gateway, second, "agent", "experiment")
    assert place(gateway, "environment") is second
    assert place(gateway, "environment") is first


# Half-filled runs.


def test_the_peers_of_half_filled_runs_are_brought_together(
    make_gateway: Callable[..., Gateway], run: Callable[..., Run], clock: Clock
) -> None:
    gateway = make_gateway(first := run(), second := run())
    assert [place(gateway, "agent"), place(gateway, "agent")] == [first, second]
    heard(gateway, first, "environment")  # its agent has not come
    heard(gateway, second, "agent")
    assert first.sent_away == second.sent_away == []
    heard(gateway, first, "environment", "experiment")
    gateway.review()
    assert second.sent_away == []  # the agent with a ticket may come
    clock.now += 10.0
    gateway.review()
    assert (first.sent_away, second.sent_away) == ([], ["agent"])
    assert place(gateway, "agent") is first


@pytest.mark.parametrize(
    ("first_has", "second_has"),
    [
        (["agent", "environment"], ["agent"]),  # no program
        (["agent", "experiment"], ["agent"]),  # no environment anywhere
        (["experiment"], ["agent"]),
        (["agent", "environment"], ["agent", "experiment"]),
    ],
)
def test_nobody_is_moved_for_nothing(
    make_gateway: Callable[..., Gateway],
    run: Callable[..., Run],
    clock: Clock,
    first_has: list[str],
    second_has: list[str],
) -> None:
    """The last row is no exception: one agent is in either run, and the environment moves."""
    gateway = make_gateway(first := run(), second := run())
    assert [place(gateway, "agent"), place(gateway, "agent")] == [first, second]
    heard(gateway, first, *first_has)
    clock.now += 10.0
    heard(gateway, second, *second_has)
    gateway.review()
    moved = ["environment"] * ({*first_has, *second_has} == {*ROLES})
    assert (first.sent_away, second.sent_away) == (moved, [])


def test_a_run_without_anybody_ends(
    make_gateway: Callable[..., Gateway], run: Callable[..., Run], clock: Clock
) -> None:
    gateway = make_gateway(first := run(), second := run())
    assert place(gateway, "agent") is first
    heard(gateway, first, "agent")
    clock.now += 1e6
    gateway.review()
    heard(gateway, first)
    clock.now += 19.9
    gateway.review()
    assert first.is_alive()
    clock.now += 0.1
    gateway.review()
    assert not first.is_alive()
    assert place(gateway, "agent") is second


def test_a_run_that_has_ended_gets_nobody(
    make_gateway: Callable[..., Gateway], run: Callable[..., Run]
) -> None:
    gateway = make_gateway(first := run(), second := run())
    session = gateway.join(WANTED).session
    first.leave()
    until(lambda: not first.is_alive(), "the gateway has noticed")
    with raises(Denied, "ticket", code=grpc.StatusCode.UNAUTHENTICATED):
        gateway.run_of(session)
    assert place(gateway, "agent") is second


# What a run's answer means.


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
        assert begun.server is not None
        port: Any = begun.server.next("agent", PATIENCE_S)
        agent.vanish()
        until(lambda: port.is_gone, "it is gone")
    assert not caplog.records
