"""A flood of joins, streams or bytes at the gateway disturbs no agent of another team."""

from __future__ import annotations

import os
import resource
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from glue_server.rpc import GlueServer
from glue_server.rpc.gateways.agent_gateway import AgentGateway
from reglue.messages.agent_messages import AgentInit, RoutineDone
from reglue.net.grpc_settings import grpc
from reglue.net.join_string import split_address
from reglue.v1 import agent_pb2 as pb
from reglue.v1 import agent_pb2_grpc, session_pb2
from tests.glue_server.rpc.memory_entries import TOKEN, KnownEntries, OwnRun
from tests.glue_server.rpc.peers import PATIENCE_S, RawAgent, ask, denied, hello_of, refusal, seated
from tests.glue_server.rpc.test_connections import PREFACE
from tests.waiting import until
from tests.worlds import Corridor

pytestmark = pytest.mark.slow

ONE_TASK = AgentInit(Corridor(solved={"a": (1,)}).spec)
OWN = [("grpc.use_local_subchannel_pool", 1)]
CALLS = 10


@contextmanager
def flood(once: Callable[[], None], count: int = 2) -> Iterator[list[int]]:
    """Do something again and again in some threads, whatever comes of it; how often."""
    over, done = threading.Event(), [0] * count

    def again(number: int) -> None:
        while not over.is_set():
            with suppress(grpc.RpcError, OSError):
                once()
            done[number] += 1

    threads = [threading.Thread(target=again, args=(number,)) for number in range(count)]
    for thread in threads:
        thread.start()
    try:
        yield done
    finally:
        over.set()
        for thread in threads:
            thread.join()


@pytest.mark.parametrize("size", [5 << 20, 60 << 20])
def test_a_large_join_is_refused_before_it_is_held(front: AgentGateway, size: int) -> None:
    """Its length is enough: no token is known then."""
    with grpc.insecure_channel(front.address, [*OWN, ("grpc.max_send_message_length", -1)]) as own:
        join: Any = own.unary_unary("/reglue.v1.LobbyService/Join", request_serializer=None)
        with denied("RESOURCE_EXHAUSTED", "larger than max"):
            join(bytes(size), timeout=PATIENCE_S)


@contextmanager
def disturbance(what: str, front: AgentGateway) -> Iterator[list[int]]:
    """Strangers that do this all the time."""
    where = split_address(front.address)
    with ExitStack() as closing:
        channel = closing.enter_context(grpc.insecure_channel(front.address, OWN))

        def wrong_tokens() -> None:
            ask(channel, token=os.urandom(8).hex())

        def streams_without_tickets() -> None:
            stub = agent_pb2_grpc.AgentServiceStub(channel)
            next(stub.Session(iter(()), metadata=[("reglue-session", "guess")]))

        def garbage() -> None:
            with socket.create_connection(where) as connection:
                connection.sendall(os.urandom(10_000))

        def broken_frames() -> None:
            with socket.create_connection(where) as connection:
                connection.sendall(PREFACE + b"\xff\xff\xff\0\0" + os.urandom(10_000))

        yield closing.enter_context(flood(locals()[what]))


@pytest.mark.parametrize(
    "what", ["wrong_tokens", "streams_without_tickets", "garbage", "broken_frames"]
)
def test_an_agent_plays_on_in_a_flood(
    front: AgentGateway, entries: KnownEntries, what: str
) -> None:
    with (
        GlueServer(places={"agent": 1}, transport="grpc") as server,
        grpc.insecure_channel(front.address, OWN) as channel,
        disturbance(what, front) as done,
    ):
        until(lambda: sum(done) > 100, "the flood has begun")
        front._limits.note_good(TOKEN)  # it has been here before
        agent = RawAgent(channel, TOKEN)
        front.assign("raw", OwnRun(server))
        port: Any = seated(server)
        before = sum(done)
        for _ in range(CALLS):
            port.send(ONE_TASK)
            agent.done()
            assert port.receive(PATIENCE_S) == RoutineDone()
        until(lambda: sum(done) > before, "the flood goes on")
        agent.vanish()


def test_an_agent_that_floods_its_stream_while_it_waits_is_refused(
    front: AgentGateway, entries: KnownEntries
) -> None:
    """No more than its first message is taken in: what it sends takes no memory for long."""
    with grpc.insecure_channel(front.address, OWN) as channel:
        ticket = ask(channel, token=TOKEN, name="raw")
        large = pb.AgentReply(seq=1, message=session_pb2.TextMessage(text="x" * 4_000_000))
        before = resident()
        sent = 0

        def messages() -> Iterator[pb.AgentReply]:
            nonlocal sent
            yield hello_of(ticket)
            while sent < 200:
                sent += 1
                yield large

        stub = agent_pb2_grpc.AgentServiceStub(channel)
        stream = stub.Session(messages(), metadata=[("reglue-session", ticket.session)])
        with denied("INVALID_ARGUMENT", "4000012 bytes", "at most 65536"):
            next(stream)
    assert sent < 100
    assert resident() - before < 100_000_000


def resident() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()


def test_a_ticket_holds_few_streams_that_say_nothing(
    front: AgentGateway, entries: KnownEntries
) -> None:
    """Then it is refused more; its hello takes over from all of them."""
    with grpc.insecure_channel(front.address, OWN) as channel, ExitStack() as closing:
        ticket = ask(channel, token=TOKEN, name="raw")
        stub = agent_pb2_grpc.AgentServiceStub(channel)
        over = threading.Event()
        closing.callback(over.set)

        def silent() -> Iterator[pb.AgentReply]:
            over.wait(PATIENCE_S)
            yield from ()

        def half_open() -> Any:
            stream = stub.Session(silent(), metadata=[("reglue-session", ticket.session)])
            closing.callback(stream.cancel)
            return stream

        streams = [half_open() for _ in range(20)]
        until(lambda: sum(not each.is_active() for each in streams) == 16, "16 are refused")
        assert {refusal(each) for each in streams if not each.is_active()} == {
            ("RESOURCE_EXHAUSTED", "too many streams are open; try again later")
        }
        another = RawAgent(channel, TOKEN, ticket=ask(channel, token=TOKEN, name="another"))
        until(lambda: entries.has(("came", "another")), "another team's agent waits")
        another.vanish()


def test_an_agent_that_reconnects_for_ever_is_slowed_down(front: AgentGateway) -> None:
    with grpc.insecure_channel(front.address, OWN) as channel:
        ticket = ask(channel, token=TOKEN, name="raw")
        stub = agent_pb2_grpc.AgentServiceStub(channel)
        said = []
        for _ in range(60):
            stream = stub.Session(iter(()), metadata=[("reglue-session", ticket.session)])
            with pytest.raises(grpc.RpcError):
                next(stream)
            said.append(refusal(stream))
    words = "this session opens too many streams; try again later"
    assert said[:30] == [("CANCELLED", "the stream ended before its hello")] * 30
    assert said[-1] == ("RESOURCE_EXHAUSTED", words)
