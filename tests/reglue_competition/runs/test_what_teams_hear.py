"""Answers to a team show nothing of the competition's secrets, before, during and after play.

The same team does the same under two secrets. All that it gets back is compared, byte by byte:
headers, messages, statuses and their words. Tickets are random and start seeds are keyed by the
secret: their sizes are compared.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from queue import SimpleQueue
from typing import Any

import numpy as np
import pytest
from grpc_health.v1 import health_pb2

from glue_server.rpc.gateways.agent_gateway import AgentGateway
from glue_server.rpc.gateways.entries import EntryRefused
from reglue import Agent
from reglue.agents.agent import hello, play
from reglue.messages.agent_messages import AgentInit
from reglue.net.grpc_settings import grpc
from reglue.net.lobby import hello_fields
from reglue.v1 import agent_pb2, lobby_pb2
from reglue.wire.agent_encoding import decode_call, encode_reply
from reglue_competition.runs.submission import Ended, SubmissionProcess
from tests.glue_server.rpc.memory_entries import TOKEN, KnownEntries, gateway
from tests.reglue_competition.runs.corridor_submissions import heard, playing, settings, told

pytestmark = pytest.mark.slow

JOIN, CHECK = "/reglue.v1.LobbyService/Join", "/grpc.health.v1.Health/Check"
SESSION = "/reglue.v1.AgentService/Session"

ONE = ("a phase's first secret, which is long", ("a", "b"))
OTHER = ("a phase's other secret: it is long too", ("the-attic", "a-kitchen-with-a-name"))


@dataclass(frozen=True, slots=True)
class Heard:
    """All that came back from one call."""

    method: str
    messages: tuple[bytes, ...]
    headers: tuple[Any, ...]
    code: str
    words: str
    trailers: tuple[Any, ...]

    @property
    def size(self) -> tuple[Any, ...]:
        return (*map(len, self.messages), self.headers, self.code, self.words, self.trailers)


class Still(Agent):
    """Acts the same whatever it is sent."""

    def agent_start(self, observations, starts):  # type: ignore[no-untyped-def]
        return np.zeros((len(starts), 1))

    def agent_step(self, rewards, observations, steps):  # type: ignore[no-untyped-def]
        return np.zeros((len(steps), 1))


class Team:
    """Calls what there is, and keeps what comes back."""

    def __init__(self, channel: grpc.Channel) -> None:
        self.heard: list[Heard] = []
        self._channel = channel

    def ask(self, method: str, message: bytes) -> bytes:
        """Of a unary call: its answer, if there is one."""
        connect: Any = self._channel.stream_stream(method)
        call = connect(iter([message]), timeout=20.0)
        return b"".join(self._keep(method, call).messages)

    def join(self, **changed: Any) -> lobby_pb2.Ticket:
        good: dict[str, Any] = {"major": 1, "role": "ROLE_AGENT", "token": TOKEN, "name": "raw"}
        request = lobby_pb2.JoinRequest(**good | changed)
        return lobby_pb2.Ticket.FromString(self.ask(JOIN, request.SerializeToString()))

    def stream(self, session: str, *messages: bytes) -> None:
        """One that says this, and hears what there is to hear. Without words it ends at once."""
        over = threading.Event()
        self._keep(SESSION, self.open(session, until_set(over, messages)))
        over.set()

    def play(self, ticket: lobby_pb2.Ticket) -> None:
        """To the farewell."""
        outbox: SimpleQueue[bytes | None] = SimpleQueue()
        agent, spec = Still(), None
        outbox.put(greeting(ticket))

        def answer(message: bytes) -> None:
            nonlocal spec
            call = decode_call(agent_pb2.AgentCall.FromString(message), spec)
            if isinstance(call.call, AgentInit):
                spec = call.call.spec
            reply = play(agent, call.call)
            if reply is not None:
                outbox.put(encode_reply(call.seq, reply, spec).SerializeToString())
            else:  # it was the farewell
                outbox.put(None)

        self._keep(SESSION, self.open(ticket.session, iter(outbox.get, None)), answer)

    def open(self, session: str, messages: Iterator[bytes]) -> Any:
        """A stream, of which nothing is kept yet."""
        connect: Any = self._channel.stream_stream(SESSION)
        return connect(messages, metadata=[("reglue-session", session)], timeout=60.0)

    def _keep(
        self, method: str, call: Any, answer: Callable[[bytes], None] = lambda _: None
    ) -> Heard:
        messages: list[bytes] = []
        try:
            for message in call:
                messages.append(message)
                answer(message)
        except grpc.RpcError:
            pass
        told = (call.code().name, call.details(), tuple(call.trailing_metadata()))
        self.heard.append(Heard(method, tuple(messages), tuple(call.initial_metadata()), *told))
        return self.heard[-1]


def until_set(over: threading.Event, messages: Sequence[bytes]) -> Iterator[bytes]:
    """The messages of a stream that falls silent, but does not end from this side."""
    yield from messages
    if messages:
        over.wait(20.0)


def greeting(ticket: lobby_pb2.Ticket, **changed: Any) -> bytes:
    own = hello(Still(), "raw")
    said = agent_pb2.AgentHello(agent=own.agent, episodic=True, **hello_fields(ticket, 0) | changed)
    return agent_pb2.AgentReply(hello=said).SerializeToString()


def heard_under(secret: str, tasks: Sequence[str], folder: Path) -> list[Heard]:
    """All that a team hears that tries what it can, and plays."""
    entries = KnownEntries()
    what = settings(secret=secret, environment_args={"solved": {task: [2, 2, 2] for task in tasks}})
    with (
        gateway(entries) as front,
        grpc.insecure_channel(front.address) as channel,
        playing(told(folder, what)) as process,
    ):
        team = Team(channel)
        knock(team, entries)
        check_health(team)
        front.assign("raw", process)
        ticket = team.join()
        refuse_streams(team, ticket)
        with ThreadPoolExecutor(1) as thread:
            ended = thread.submit(let_go, process)
            team.play(ticket)
            ended.result()
        front.end("raw", "thank you")
        team.stream(ticket.session, greeting(ticket))
        wait_and_be_ended(team, front)
        front.drain("the server is about to stop; try again later")
        team.join()
        check_health(team)
    return team.heard


def knock(team: Team, entries: KnownEntries) -> None:
    """Try to join in all ways that are refused."""
    team.join(token="guess")
    team.join(major=2)
    team.join(role="ROLE_ENVIRONMENT")
    team.ask(JOIN, b"\xff\xff")
    team.ask(JOIN, b"\0" * 70_000)
    team.ask("/reglue.v1.LobbyService/Leave", b"")
    for kind in ("token", "entry", "later"):
        entries.refusal = EntryRefused("the phase has ended", kind=kind)
        team.join()
    entries.refusal = None


def check_health(team: Team) -> None:
    for service in ("", "reglue.v1.AgentService", "reglue.v1.ExperimentService", "plans"):
        team.ask(CHECK, health_pb2.HealthCheckRequest(service=service).SerializeToString())


def refuse_streams(team: Team, ticket: lobby_pb2.Ticket) -> None:
    """Open streams in all ways that are refused."""
    team.stream("guess")
    team.stream(ticket.session)
    team.stream(ticket.session, b"\xff\xff")
    team.stream(ticket.session, b"\0" * 70_000)
    team.stream(ticket.session, greeting(ticket, proof=b"guess"))
    team.stream(ticket.session, greeting(ticket, session="guess"))
    team.stream(ticket.session, greeting(ticket, major=2))


def let_go(process: SubmissionProcess) -> None:
    """As the queue does, which has taken down how it ended."""
    heard(process, Ended)
    process.let_go("thank you")


def wait_and_be_ended(team: Team, front: AgentGateway) -> None:
    """The organiser's words, and a second agent of the submission meanwhile."""
    ticket = team.join(name="another")
    over = threading.Event()
    waiting = team.open(ticket.session, until_set(over, [greeting(ticket)]))
    waiting.initial_metadata()
    team.join(name="another")
    front.end("another", "the organiser has cancelled it")
    team.stream(ticket.session, greeting(ticket))
    over.set()
    waiting.cancel()


def alike(heard: Heard) -> Heard:
    """Without what is random, or keyed by the secret."""
    return replace(heard, messages=tuple(_alike(heard.method, each) for each in heard.messages))


def _alike(method: str, message: bytes) -> Any:
    if method == JOIN:
        ticket = lobby_pb2.Ticket.FromString(message)
        ticket.ClearField("session")
        ticket.ClearField("secret")
        return ticket.SerializeToString()
    if method == SESSION:
        call = agent_pb2.AgentCall.FromString(message)
        if call.WhichOneof("call") == "turn":
            del call.turn.start_seeds[:]
        return call.SerializeToString()
    return message


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> list[list[Heard]]:
    folders = [tmp_path_factory.mktemp("secrets") for _ in range(2)]
    with ThreadPoolExecutor(2) as threads:
        calls = [
            threads.submit(heard_under, *each, folder)
            for each, folder in zip((ONE, OTHER), folders, strict=True)
        ]
        return [call.result() for call in calls]


def test_everything_has_the_same_size(both: list[list[Heard]]) -> None:
    one, other = both
    assert [each.size for each in one] == [each.size for each in other]


def test_everything_but_tickets_and_start_seeds_has_the_same_bytes(both: list[list[Heard]]) -> None:
    one, other = both
    assert [*map(alike, one)] == [*map(alike, other)]
    assert one != other


def test_nothing_is_named_after_a_task(both: list[list[Heard]]) -> None:
    assert not any(task in repr(both).encode() for task in (b"attic", b"kitchen"))


def test_every_status_and_kind_of_call_is_compared(both: list[list[Heard]]) -> None:
    """Guards the tests above: what is not sent cannot differ."""
    one, _ = both
    assert {each.code for each in one} == {
        *("OK", "UNAUTHENTICATED", "FAILED_PRECONDITION", "INVALID_ARGUMENT", "ALREADY_EXISTS"),
        *("RESOURCE_EXHAUSTED", "NOT_FOUND", "UNIMPLEMENTED", "CANCELLED"),
    }
    calls = [call for each in one if each.method == SESSION for call in each.messages]
    kinds = {agent_pb2.AgentCall.FromString(call).WhichOneof("call") for call in calls}
    assert kinds == {"init", "freeze", "turn", "cleanup", "farewell"}
