"""Several runs behind one door: each token leads to a place of its own."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest

from glue_server.rpc import GlueServer
from reglue import connect
from reglue.errors import Busy, UsageError, WrongToken
from reglue.net.grpc_settings import grpc
from reglue.net.join_string import JoinString, Transport
from tests.error_facts import raises
from tests.glue_server.playing import Follower
from tests.glue_server.rpc.peers import PATIENCE_S, RawAgent, ask


def test_a_token_leads_to_its_own_room(transport: Transport) -> None:
    with GlueServer(places={"agent": 0}) as server, ThreadPoolExecutor(2) as threads:
        rooms = {token: server.private_lobby("agent", token=token) for token in ("one", "two")}
        left = {
            token: threads.submit(
                connect, Follower(), server.address, token, name=token, transport=transport
            )
            for token in reversed(rooms)
        }
        for token, room in rooms.items():
            port = room.next("agent", PATIENCE_S)
            assert port is not None
            assert port.hello.agent == token
            port.close(f"thank you, {token}")
            assert left[token].result(PATIENCE_S) == f"thank you, {token}"


def test_a_token_of_no_room_is_wrong(server: GlueServer) -> None:
    server.private_lobby("agent", token="one")
    with pytest.raises(WrongToken):
        connect(Follower(), server.address, "two")


def test_two_private_lobbies_have_two_tokens(server: GlueServer) -> None:
    server.private_lobby("agent", token="one")
    with raises(UsageError, "token", "private lobbies"):
        server.private_lobby("agent", token="one")


def test_a_room_tells_only_a_token_that_was_made_for_it(server: GlueServer) -> None:
    made, given = server.private_lobby("agent"), server.private_lobby("agent", token="one")
    assert made.join_string("agent") == JoinString(
        server.address, made.local_join_string("agent").token
    )
    assert made.join_string("agent").token
    assert given.join_string("agent") == JoinString(server.address)
    assert given.local_join_string("agent").token == "one"


def test_a_room_that_is_closed_says_so(server: GlueServer, channel: grpc.Channel) -> None:
    room = server.private_lobby("agent", token="one")
    with ThreadPoolExecutor(1) as threads:
        early = threads.submit(connect, Follower(), server.address, "one")
        while not is_taken(channel, "one"):
            pass
        room.close()
        assert early.result(PATIENCE_S) == "the run is over"
    with raises(Busy, "over"):
        connect(Follower(), server.address, "one")


def test_who_came_early_and_left_makes_room_for_another(
    server: GlueServer, channel: grpc.Channel
) -> None:
    room = server.private_lobby("agent", token="one")
    early = RawAgent(channel, "one", agent="early")
    while not is_taken(channel, "one"):
        pass
    early.vanish()
    while is_taken(channel, "one"):
        pass
    with ThreadPoolExecutor(1) as threads:
        left = threads.submit(connect, Follower(), server.address, "one", name="second")
        port = room.next("agent", PATIENCE_S)
        assert port is not None
        assert port.hello.agent == "second"
        port.close("thank you")
        assert left.result(PATIENCE_S) == "thank you"


def is_taken(channel: grpc.Channel, token: str) -> bool:
    """Whether somebody has come: another one is turned away."""
    try:
        ask(channel, token=token)
    except grpc.RpcError as error:
        return error.code() is grpc.StatusCode.ALREADY_EXISTS
    return False
