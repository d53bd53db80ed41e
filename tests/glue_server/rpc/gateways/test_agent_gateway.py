"""Agents that wait at the gateway for a run, and are carried to it."""

from __future__ import annotations

import logging
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from typing import Any

import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc

from glue_server.conformance.tcp_proxy import TcpProxy
from glue_server.rpc.gateways import agent_gateway
from glue_server.rpc.gateways.agent_gateway import AgentGateway
from glue_server.rpc.gateways.entries import EntryRefused
from glue_server.rpc.server_session import NO_TICKET
from reglue import connect
from reglue.errors import Busy, Refused, WrongToken
from reglue.messages.agent_messages import AgentInit, RoutineDone
from reglue.net.grpc_settings import grpc
from reglue.v1 import agent_pb2 as pb
from reglue.v1 import lobby_pb2, session_pb2
from tests.error_facts import raises
from tests.glue_server.rpc.conftest import Dial
from tests.glue_server.rpc.gateways.conftest import Enter, Idle
from tests.glue_server.rpc.memory_entries import TOKEN, KnownEntries, OwnRun, gateway
from tests.glue_server.rpc.peers import PATIENCE_S, RawAgent, ask, denied, refusal, seated
from tests.waiting import until
from tests.worlds import Corridor

ONE_TASK = AgentInit(Corridor(solved={"a": (1,)}).spec)


def waits(entries: KnownEntries, entry: str = "entry") -> None:
    """Return once it has come, and waits."""
    until(lambda: entries.has(("came", entry)), f"{entry} waits")


def assigned(front: AgentGateway, run: Callable[[], OwnRun]) -> OwnRun:
    """A run of the entry."""
    begun = run()
    front.assign("entry", begun)
    return begun


def call(port: Any) -> None:
    """Have the agent's agent_init called."""
    port.send(ONE_TASK)
    assert port.receive(PATIENCE_S) == RoutineDone()


def test_an_agent_waits_until_a_run_takes_it(
    front: AgentGateway, entries: KnownEntries, enter: Enter, run: Callable[[], OwnRun]
) -> None:
    agent = Idle()
    entered = enter(agent)
    waits(entries)
    begun = assigned(front, run)
    port: Any = seated(begun.server)
    call(port)
    port.close("the run is over")
    assert entered.result(PATIENCE_S) == "the run is over"
    assert agent.inits == 1


def test_an_agent_may_come_after_its_run_has_begun(
    front: AgentGateway, enter: Enter, run: Callable[[], OwnRun]
) -> None:
    begun = assigned(front, run)
    enter(Idle())
    call(seated(begun.server))


def test_many_agents_wait_at_once(front: AgentGateway, entries: KnownEntries) -> None:
    """Each holds a thread, and the calls of others are answered."""
    own = [("grpc.use_local_subchannel_pool", 1)]
    with ExitStack() as closing:
        channels = [
            closing.enter_context(grpc.insecure_channel(front.address, own)) for _ in range(5)
        ]
        for number in range(120):
            ticket = enter_as(channels[0], f"agent {number}", f"{TOKEN} {number}")
            agent = RawAgent(channels[number % 5], TOKEN, ticket=ticket)
            closing.callback(agent.vanish)
        wanted = [("came", f"agent {number}") for number in range(120)]
        until(lambda: entries.has(*wanted), "all wait")
        for number in range(120):
            front.end(f"agent {number}", "that was all")


def enter_as(channel: grpc.Channel, name: str, token: str = TOKEN) -> lobby_pb2.Ticket:
    return ask(channel, token=token, name=name)


def test_a_connection_that_breaks_in_a_run_is_carried_on(
    front: AgentGateway, enter: Enter, run: Callable[[], OwnRun]
) -> None:
    begun = assigned(front, run)
    with TcpProxy(front.address) as proxy:
        agent = Idle()
        entered = enter(agent, address=proxy.address)
        port: Any = seated(begun.server)
        for _ in range(3):
            call(port)
            proxy.cut()
        call(port)
        port.close("the run is over")
        assert entered.result(PATIENCE_S) == "the run is over"


def test_a_connection_that_breaks_while_it_waits_is_taken_up_again(
    front: AgentGateway, entries: KnownEntries, enter: Enter, run: Callable[[], OwnRun]
) -> None:
    with TcpProxy(front.address) as proxy:
        entered = enter(Idle(), address=proxy.address)
        waits(entries)
        proxy.cut()
        until(lambda: entries.told.count(("came", "entry")) == 2, "it is back")
        begun = assigned(front, run)
        call(seated(begun.server))
        assert not entries.has(("left", "entry"))
        front.end("entry", "that was all")
        entered.result(PATIENCE_S)


def test_an_agent_whose_run_dies_begins_again_in_the_next_one(
    front: AgentGateway, entries: KnownEntries, enter: Enter, run: Callable[[], OwnRun]
) -> None:
    first, second = run(), run()
    front.assign("entry", first)
    agent = Idle()
    enter(agent)
    for begun in (first, second):
        port: Any = seated(begun.server)
        call(port)
        if begun is first:
            first.end(0.0)
            front.assign("entry", second)
    assert agent.inits == 2
    assert entries.told.count(("entered", "entry")) == 2


def test_an_agent_whose_run_died_is_known_to_join_anew(
    front: AgentGateway, entries: KnownEntries, dial: Dial, run: Callable[[], OwnRun]
) -> None:
    first = run()
    agent = dial()
    waits(entries, "raw")
    front.assign("raw", first)
    seated(first.server)
    assert not front.joins_anew("raw")
    agent.vanish()
    first.end(0.0)
    front.assign("raw", run())
    assert front.joins_anew("raw")
    dial()
    assert not front.joins_anew("raw")


def test_an_agent_of_an_entry_that_is_over_may_enter_again(
    front: AgentGateway, entries: KnownEntries, dial: Dial
) -> None:
    agent = dial()
    waits(entries, "raw")
    front.release("raw")
    with denied("UNAUTHENTICATED", NO_TICKET):
        agent.hear()
    dial()
    until(lambda: entries.told.count(("came", "raw")) == 2, "it waits again")


@pytest.mark.parametrize("plays", [False, True])
def test_an_agent_is_told_why_it_ends(
    front: AgentGateway, entries: KnownEntries, enter: Enter, run: Callable[[], OwnRun], plays: bool
) -> None:
    entered = enter(Idle())
    waits(entries)
    if plays:
        call(seated(assigned(front, run).server))
    front.end("entry", "the organiser has cancelled this")
    assert entered.result(PATIENCE_S) == "the organiser has cancelled this"


def test_an_agent_that_comes_back_too_late_for_its_farewell_gets_it(
    front: AgentGateway, entries: KnownEntries, dial: Dial
) -> None:
    """Otherwise it would join anew, and begin another submission."""
    agent = dial()
    waits(entries, "raw")
    agent.vanish()
    front.end("raw", "the organiser has cancelled this")
    again = dial(ticket=agent.ticket)
    assert again.hear().farewell.reason == "the organiser has cancelled this"


def test_an_agent_that_does_not_come_back_has_left(entries: KnownEntries) -> None:
    with gateway(entries, 0.1) as front, grpc.insecure_channel(front.address) as channel:
        agent = RawAgent(channel, TOKEN)
        waits(entries, "raw")
        agent.vanish()
        until(lambda: entries.has(("left", "raw")), "it is given up")
        until(lambda: not front._sessions, "it is forgotten")


def test_an_agent_of_an_entry_that_was_ended_has_not_left_the_next_one(
    entries: KnownEntries,
) -> None:
    """The organiser has a submission that failed played again within the agent's window."""
    with gateway(entries, 0.5) as front, grpc.insecure_channel(front.address) as channel:
        first = RawAgent(channel, TOKEN)
        waits(entries, "raw")
        front.end("raw", "the submission has failed", has_failed=True)
        first.vanish()
        second = RawAgent(channel, TOKEN)
        until(lambda: entries.told.count(("came", "raw")) == 2, "the second one waits")
        until(lambda: len(front._sessions) == 1, "the first one is forgotten")
        assert not entries.has(("left", "raw"))
        second.vanish()


def test_a_ticket_that_nobody_uses_is_given_up(entries: KnownEntries) -> None:
    with gateway(entries, 0.1) as front, grpc.insecure_channel(front.address) as channel:
        enter_as(channel, "entry")
        until(lambda: entries.has(("left", "entry")), "it is given up")


def test_an_agent_that_says_goodbye_has_left_at_once(entries: KnownEntries, dial: Dial) -> None:
    agent = dial()
    agent.send(pb.AgentReply(fault=session_pb2.Fault(what="interrupted")))
    assert agent.hear().farewell.reason == "the agent has left"
    until(lambda: entries.has(("left", "raw")), "it is gone, long before its window is over")


def test_what_could_not_be_noted_is_told_again(
    entries: KnownEntries, dial: Dial, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(agent_gateway, "_PAUSE_S", 0.01)
    agent = dial()
    waits(entries, "raw")
    entries.fails = 3
    agent.send(pb.AgentReply(fault=session_pb2.Fault(what="interrupted")))
    until(lambda: entries.has(("left", "raw")), "it is noted")


def test_an_agent_that_talks_while_it_waits_is_refused(
    dial: Dial, caplog: pytest.LogCaptureFixture
) -> None:
    agent = dial()
    agent.send(pb.AgentReply(seq=1, done=session_pb2.RoutineDone()))
    with (
        caplog.at_level(logging.WARNING, "reglue"),
        denied("INVALID_ARGUMENT", "answer", "silence"),
    ):
        agent.hear()
    assert [vars(each)["submission"] for each in caplog.records] == ["raw"]


@pytest.mark.parametrize(
    ("kind", "code", "raised"),
    [
        ("token", "UNAUTHENTICATED", WrongToken),
        ("entry", "INVALID_ARGUMENT", Refused),
        ("later", "RESOURCE_EXHAUSTED", Busy),
    ],
)
def test_a_refusal_says_whether_it_is_final(
    entries: KnownEntries, channel: grpc.Channel, enter: Enter, kind: Any, code: str, raised: type
) -> None:
    entries.refusal = EntryRefused("the phase has ended", kind=kind)
    with denied(code, "the phase has ended"):
        enter_as(channel, "entry")
    with raises(raised, "the phase has ended"):
        enter(Idle(), connect_timeout_s=2.0).result(PATIENCE_S)


def test_a_refusal_is_logged_with_whom_it_was_of(
    entries: KnownEntries, channel: grpc.Channel, caplog: pytest.LogCaptureFixture
) -> None:
    """Once a minute for each team and cause."""
    with caplog.at_level(logging.WARNING, "reglue"):
        for team in ("A", "B", "A"):
            entries.refusal = EntryRefused("two runs a day", team=team)
            with pytest.raises(grpc.RpcError):
                enter_as(channel, "third")
    words = "a join was refused: two runs a day (address=127.0.0.1 name='third') "
    assert [(vars(each)["team"], each.getMessage()) for each in caplog.records] == [
        ("A", words + "(1 since the last such line)"),
        ("B", words + "(1 since the last such line)"),
    ]


def test_the_second_agent_of_a_submission_is_refused(entries: KnownEntries, dial: Dial) -> None:
    first = dial()
    waits(entries, "raw")
    with denied("ALREADY_EXISTS", "agent"):
        dial()
    assert first.stream.is_active()


def test_an_agent_that_was_ended_while_it_waited_may_be_started_again(
    front: AgentGateway, entries: KnownEntries, dial: Dial
) -> None:
    """Its window is not over; nothing has been played."""
    first = dial()
    waits(entries, "raw")
    first.vanish()
    until(lambda: front._of_entry["raw"].stream is None, "its end is seen")
    dial()
    until(lambda: entries.told.count(("came", "raw")) == 2, "the second one waits")
    with denied("UNAUTHENTICATED", NO_TICKET):
        dial(ticket=first.ticket).hear()


def test_a_newer_stream_of_a_session_takes_over(entries: KnownEntries, dial: Dial) -> None:
    first = dial()
    waits(entries, "raw")
    dial(ticket=first.ticket)
    with denied("CANCELLED"):
        first.hear()


@pytest.mark.parametrize(
    ("changed", "code"),
    [
        ({"proof": b"guess"}, "UNAUTHENTICATED"),
        ({"session": "another"}, "UNAUTHENTICATED"),
        ({"answered": 1}, "UNAUTHENTICATED"),
        ({"major": 2}, "FAILED_PRECONDITION"),
        ({"agent": "x" * 70_000}, "INVALID_ARGUMENT"),
    ],
)
def test_a_hello_without_the_ticket_holds_nothing(
    entries: KnownEntries, dial: Dial, changed: dict[str, Any], code: str
) -> None:
    with denied(code):
        dial(**changed).hear()
    assert not entries.has(("came", "raw"))


def test_a_gateway_that_drains_lets_nobody_else_in(
    front: AgentGateway, entries: KnownEntries, channel: grpc.Channel, enter: Enter
) -> None:
    enter(Idle())
    waits(entries)
    health: Any = health_pb2_grpc.HealthStub(channel)
    states = health_pb2.HealthCheckResponse
    assert health.Check(health_pb2.HealthCheckRequest()).status == states.SERVING
    words = "the server is about to restart; try again later"
    front.drain(words)
    assert health.Check(health_pb2.HealthCheckRequest()).status == states.NOT_SERVING
    with denied("RESOURCE_EXHAUSTED", words):
        enter_as(channel, "other")
    assert not entries.has(("left", "entry"))


def test_agents_come_back_to_the_server_that_is_started_next(
    entries: KnownEntries, run: Callable[[], OwnRun]
) -> None:
    begun = run()
    with (
        ThreadPoolExecutor(1) as thread,
        TcpProxy() as proxy,
    ):
        with gateway(entries) as front:
            proxy.target = front.address
            entered = thread.submit(connect, Idle(), proxy.address, TOKEN, name="entry")
            waits(entries)
        with gateway(entries) as front:
            proxy.target = front.address
            front.assign("entry", begun)
            port: Any = seated(begun.server)
            call(port)
            port.close("the run is over")
            assert entered.result(PATIENCE_S) == "the run is over"


class Broken(KnownEntries):
    """Fails at what is called `fails`, in words that nobody else should hear."""

    def __init__(self, fails: str) -> None:
        super().__init__()
        self._fails = fails

    def enter(self, token: str, name: str, caller: Any) -> str:
        self._check("enter")
        return super().enter(token, name, caller)

    def waits(self, entry: str) -> str:
        self._check("waits")
        return super().waits(entry)

    def _check(self, what: str) -> None:
        if self._fails == what:
            raise RuntimeError("/srv/my-comp/secrets cannot be read")


def hear_one(channel: grpc.Channel) -> None:
    """A raw agent's first call."""
    agent = RawAgent(channel, TOKEN)
    try:
        agent.hear()
    finally:
        agent.vanish()


@pytest.mark.parametrize("fails", ["enter", "waits"])
def test_a_stranger_does_not_hear_the_words_of_our_own_failure(
    fails: str, caplog: pytest.LogCaptureFixture
) -> None:
    """They are in our log, and may name files."""
    with (
        gateway(Broken(fails)) as front,
        grpc.insecure_channel(front.address) as channel,
        pytest.raises(grpc.RpcError) as failed,
    ):
        hear_one(channel)
    assert refusal(failed.value) == ("INTERNAL", "our own failure: it is in the host's log")
    assert "/srv/my-comp/secrets cannot be read" in caplog.text
