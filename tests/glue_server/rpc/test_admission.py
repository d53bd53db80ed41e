"""The peers that are admitted, those that are not, and the reasons."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any, cast

import pytest

from glue_server.peers.hub import ROLES
from glue_server.rpc import GlueServer
from glue_server.rpc.admission import Denied, Lobby, Places, Terms
from glue_server.rpc.server_session import NO_TICKET, PeerSession
from reglue.errors import Busy, UsageError
from reglue.net import lobby
from reglue.net.grpc_settings import HUB_MESSAGE_BYTES, grpc
from reglue.net.lobby import hello_proof
from reglue.v1 import agent_pb2 as pb
from reglue.v1 import environment_pb2, environment_pb2_grpc, lobby_pb2, session_pb2
from reglue.wire.roles import AGENT
from tests.error_facts import raises
from tests.glue_server.playing import Follower
from tests.glue_server.rpc.conftest import Dial, Join
from tests.glue_server.rpc.peers import PATIENCE_S, LocalStream, ask, denied, seated


def test_a_ticket_holds_what_the_stream_needs(server: GlueServer, channel: grpc.Channel) -> None:
    ticket = ask(channel, token=server.token)
    assert len(ticket.secret) == 32
    assert (ticket.address, ticket.max_message_bytes) == ("", HUB_MESSAGE_BYTES)


def test_no_two_tickets_are_alike(server: GlueServer, channel: grpc.Channel) -> None:
    one, two = ask(channel, token=server.token), ask(channel, token=server.token)
    assert one.session != two.session
    assert one.secret != two.secret


def test_a_client_that_asks_again_gets_its_ticket_until_it_is_used(
    server: GlueServer, channel: grpc.Channel, dial: Dial
) -> None:
    """The answer to its first try may have come too late."""
    one, again = (ask(channel, token=server.token, client="mine") for _ in "12")
    assert one == again
    assert ask(channel, token=server.token, client="another") != one
    dial(ticket=one)
    assert server.next("agent", PATIENCE_S) is not None
    with denied("ALREADY_EXISTS", "agent"):
        ask(channel, token=server.token, client="mine")


def test_a_python_client_has_one_name_in_all_of_its_tries_and_another_one_for_each_join(
    server: GlueServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []
    join_once = Lobby.join

    def slow(lobby: Lobby, request: lobby_pb2.JoinRequest) -> lobby_pb2.Ticket:
        asked.append(request.client)
        if len(asked) < 3:
            raise Denied(grpc.StatusCode.RESOURCE_EXHAUSTED, "try again")
        return join_once(lobby, request)

    monkeypatch.setattr(Lobby, "join", slow)
    for _ in range(2):
        lobby.join(server.join_string("agent"), AGENT, name="", connect_timeout_s=PATIENCE_S)
    assert asked[0] == asked[1] == asked[2] != asked[3]


@pytest.mark.parametrize(
    ("request_", "code", "named"),
    [
        ({"token": "guess"}, "UNAUTHENTICATED", ["wrong token"]),
        ({"token": "guess\r"}, "UNAUTHENTICATED", ["wrong token", "invisible"]),
        ({"token": ""}, "UNAUTHENTICATED", ["no token"]),
        ({"token": "größe"}, "UNAUTHENTICATED", ["wrong token"]),
        ({"major": 2}, "FAILED_PRECONDITION", ["version 2", 1]),
        ({"major": 0}, "FAILED_PRECONDITION", ["version 0", 1]),
        (
            {"role": lobby_pb2.ROLE_ENVIRONMENT},
            "INVALID_ARGUMENT",
            ["environment", "agent"],
        ),
        ({"role": lobby_pb2.ROLE_UNSPECIFIED}, "INVALID_ARGUMENT", ["role 0", "agent"]),
        ({"role": 99}, "INVALID_ARGUMENT", ["role 99", "agent"]),
    ],
)
def test_who_may_not_come_in_is_told_why(
    server: GlueServer, channel: grpc.Channel, request_: dict[str, Any], code: str, named: list[Any]
) -> None:
    with denied(code, *named):
        ask(channel, **{"token": server.token} | request_)


@pytest.mark.parametrize("role", ROLES)
def test_a_token_opens_its_own_role_alone(role: str) -> None:
    with (
        GlueServer(places=dict.fromkeys(ROLES, 2)) as server,
        grpc.insecure_channel(server.address) as channel,
    ):
        number = lobby_pb2.Role.Value(f"ROLE_{role.upper()}")
        assert ask(channel, role=number, token=server.tokens[role]).session
        for other in set(ROLES) - {role}:
            with denied("UNAUTHENTICATED", "wrong token"):
                ask(channel, role=number, token=server.tokens[other])


def test_a_server_of_several_roles_takes_a_token_for_each() -> None:
    with raises(UsageError, "token", "agent and environment and experiment"):
        GlueServer(places=dict.fromkeys(ROLES, 1), token="one")


def test_a_wrong_role_without_the_token_learns_of_the_token_only(channel: grpc.Channel) -> None:
    with denied("UNAUTHENTICATED"):
        ask(channel, token="guess", role=lobby_pb2.ROLE_EXPERIMENT)


def test_the_server_draws_a_token_of_its_own() -> None:
    """One that begins with a dash would read as an option on the command line."""
    with GlueServer() as one, GlueServer() as two:
        assert one.token != two.token
        assert one.token.isalnum()
        assert len(one.token) >= 32


# Streams.


@pytest.mark.parametrize(
    ("hello", "code", "named"),
    [
        ({"proof": bytes(32)}, "UNAUTHENTICATED", ["somebody else's"]),
        ({"proof": b""}, "UNAUTHENTICATED", ["somebody else's"]),
        ({"answered": 7}, "UNAUTHENTICATED", ["somebody else's"]),
        ({"answered": 7, "proves": 7}, "UNAUTHENTICATED", ["lost its memory"]),
        ({"session": "other"}, "UNAUTHENTICATED", [NO_TICKET]),
        ({"major": 2}, "FAILED_PRECONDITION", ["version 2"]),
        ({"first": pb.AgentReply(seq=1)}, "INVALID_ARGUMENT", ["hello"]),
        (
            {"first": pb.AgentReply(done=session_pb2.RoutineDone())},
            "INVALID_ARGUMENT",
            ["hello"],
        ),
    ],
    ids=str,
)
def test_who_has_no_good_hello_is_told_why_and_takes_no_place(
    server: GlueServer, dial: Dial, hello: dict[str, Any], code: str, named: list[Any]
) -> None:
    agent = dial(**hello)
    with denied(code, *named):
        agent.hear()
    assert server.next("agent", 0.0) is None


@pytest.mark.parametrize("transport", ["grpc"])
@pytest.mark.parametrize("session", ["other", ""])
def test_a_stream_of_another_session_in_its_metadata_is_refused(dial: Dial, session: str) -> None:
    with denied("UNAUTHENTICATED", NO_TICKET):
        dial(metadata=session).hear()


def test_a_ticket_admits_once(server: GlueServer, dial: Dial) -> None:
    first = dial()
    assert server.next("agent", PATIENCE_S) is not None
    second = dial(ticket=first.ticket)
    with denied("UNAUTHENTICATED", NO_TICKET):
        second.hear()


def test_a_ticket_of_another_role_opens_no_stream() -> None:
    with (
        GlueServer(places={"agent": 1, "environment": 1}) as server,
        grpc.insecure_channel(server.address) as channel,
    ):
        ticket = ask(channel, token=server.tokens["agent"])
        proof = hello_proof(ticket.secret, ticket.session, 0)
        hello = environment_pb2.EnvironmentHello(major=1, session=ticket.session, proof=proof)
        stream = environment_pb2_grpc.EnvironmentServiceStub(channel).Session(
            iter([environment_pb2.EnvironmentReply(hello=hello)]),
            metadata=[("reglue-session", ticket.session)],
        )
        with denied("UNAUTHENTICATED", NO_TICKET):
            next(stream)
        assert server.next("environment", 0.0) is None


def test_of_two_tickets_the_first_to_arrive_gets_the_place(
    server: GlueServer, channel: grpc.Channel, dial: Dial
) -> None:
    one, two = ask(channel, token=server.token), ask(channel, token=server.token)
    dial(ticket=two)
    assert server.next("agent", PATIENCE_S) is not None
    late = dial(ticket=one)
    with denied("ALREADY_EXISTS", "agent"):
        late.hear()


def test_the_oldest_unused_tickets_are_forgotten(
    server: GlueServer, channel: grpc.Channel, dial: Dial
) -> None:
    """Whoever holds the token cannot fill the glue's memory with tickets."""
    first = ask(channel, token=server.token)
    for _ in range(256):
        ask(channel, token=server.token)
    with denied("UNAUTHENTICATED", NO_TICKET):
        dial(ticket=first).hear()


# As the SDK says it.


def test_a_second_agent_is_told_that_the_run_is_busy(server: GlueServer, join: Join) -> None:
    first = join(Follower())
    port = seated(server)
    with raises(Busy, "agent"):
        join(Follower()).result(PATIENCE_S)
    port.close("thank you")
    assert first.result(PATIENCE_S) == "thank you"


def test_a_look_at_who_waits_keeps_nobody_else_waiting() -> None:
    """It reads what they have sent, and takes as long as that."""
    looking, may_see = threading.Event(), threading.Event()
    seen: list[bool] = []

    class Waiting:
        @property
        def is_gone(self) -> bool:
            looking.set()
            seen.append(may_see.wait(PATIENCE_S))
            return False

        def attach(self, answered: int, stream: object, proof: bytes) -> None:
            """It is in."""

    places = Places(2, "token", Terms(1024), lambda *_: cast(PeerSession, Waiting()))
    lobby = Lobby({"agent": places})
    request = lobby_pb2.JoinRequest(major=1, role=lobby_pb2.ROLE_AGENT, token="token")
    ticket = lobby.join(request)
    proof = hello_proof(ticket.secret, ticket.session, 0)
    hello = pb.AgentHello(major=1, session=ticket.session, proof=proof)
    lobby.admit(ticket.session, "agent", hello, stream := LocalStream().stream)
    with ThreadPoolExecutor(1) as threads:
        joining = threads.submit(lobby.join, request)
        assert looking.wait(PATIENCE_S)
        assert lobby.knows(ticket.session)
        assert not seen
        may_see.set()
        assert joining.result(PATIENCE_S).session
    stream.end()
