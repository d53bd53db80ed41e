"""Connecting: waiting for a glue, being refused, and leaving for every reason there is."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from glue_server.rpc import GlueServer
from reglue import connect
from reglue.environments.slot_worlds import Worlds
from reglue.errors import (
    BadArgument,
    NotAnAgent,
    NotAnEnvironment,
    Refused,
    ReglueError,
    SessionLost,
    Unreachable,
    WrongToken,
    WrongVersion,
)
from reglue.net import lobby
from reglue.wire.roles import AGENT
from tests.error_facts import assert_named, raises
from tests.glue_server.playing import SOLVED
from tests.glue_server.rpc.peers import seated
from tests.programs import program
from tests.reglue.connecting import PATIENCE_S, Start, Still
from tests.worlds import Corridor

pytestmark = pytest.mark.usefixtures("tidy")

ROOT = Path(__file__).parents[2]


@pytest.fixture
def free_port() -> Iterator[tuple[int, socket.socket]]:
    """A port on loopback that is ours and that nobody listens on."""
    with socket.socket() as holder:
        holder.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        holder.bind(("127.0.0.1", 0))
        yield holder.getsockname()[1], holder


# Coming.


def test_address_and_token_come_from_the_environment(
    server: GlueServer, start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("REGLUE_ADDRESS", server.address)
    monkeypatch.setenv("REGLUE_TOKEN", server.token)
    agent = start(Still())
    seated(server).close("welcome")
    assert agent.result(PATIENCE_S) == "welcome"


def test_no_address_is_wrong_usage(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("REGLUE_ADDRESS", raising=False)
    with raises(BadArgument, "REGLUE_ADDRESS"):
        connect(Still())


@pytest.mark.parametrize("timeout_s", [-1.0, float("nan")])
def test_a_connect_timeout_below_0_is_wrong_usage(timeout_s: float) -> None:
    with raises(BadArgument, got=f"a connect timeout of {timeout_s:g} s", wanted="0 or more"):
        connect(Still(), "127.0.0.1:1", "T", connect_timeout_s=timeout_s)


def test_what_is_no_agent_is_told_before_anything_is_dialled() -> None:
    with pytest.raises(NotAnAgent):
        connect(object(), "127.0.0.1:1", "token")


@pytest.mark.parametrize("kind", [Worlds, Corridor])
def test_the_class_of_an_environment_is_no_environment(kind: type) -> None:
    with raises(NotAnEnvironment, f"class {kind.__name__}"):
        connect(kind, "127.0.0.1:9", "secret", connect_timeout_s=0.1)


def test_a_glue_that_comes_up_later_is_waited_for(
    start: Start, free_port: tuple[int, socket.socket]
) -> None:
    port, holder = free_port
    holder.listen()
    agent = start(Still(), f"127.0.0.1:{port}", "secret", connect_timeout_s=PATIENCE_S)
    holder.accept()[0].close()  # the agent has dialled, and nobody spoke to it
    holder.close()
    with GlueServer(f"127.0.0.1:{port}", token="secret") as server:
        seated(server).close("at last")
        assert agent.result(PATIENCE_S) == "at last"


def test_waiting_for_a_glue_has_an_end(free_port: tuple[int, socket.socket]) -> None:
    address = f"127.0.0.1:{free_port[0]}"
    with raises(Unreachable, address, "0.2 s"):
        connect(Still(), address, "token", connect_timeout_s=0.2)


def test_who_waits_for_a_glue_says_so_once(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("reglue.net.lobby._QUIET_S", 0.1)
    with pytest.raises(Unreachable):
        connect(Still(), "127.0.0.1:9", "secret", connect_timeout_s=0.6)
    assert caplog.messages == ["waiting for a glue at 127.0.0.1:9, up to 0.6 s"]


def test_a_proxy_is_not_asked_for_a_glue_on_this_host(
    server: GlueServer, start: Start, monkeypatch: pytest.MonkeyPatch, free_port: tuple[int, Any]
) -> None:
    """Clusters set `http_proxy` for everybody; nobody listens on this one."""
    for name in ("no_proxy", "NO_PROXY", "no_grpc_proxy"):
        monkeypatch.delenv(name, raising=False)
    for name in ("http_proxy", "grpc_proxy", "https_proxy"):
        monkeypatch.setenv(name, f"http://127.0.0.1:{free_port[0]}")
    agent = start(Still(), server.address, server.token, connect_timeout_s=PATIENCE_S)
    seated(server).close("direct")
    assert agent.result(PATIENCE_S) == "direct"


@pytest.mark.parametrize(
    ("variables", "named"),
    [
        ({"http_proxy": "http://127.0.0.1:9"}, "http_proxy"),
        (
            {"http_proxy": "http://127.0.0.1:9", "no_proxy": "other.invalid, localhost"},
            "http_proxy",
        ),
        ({"grpc_proxy": "http://127.0.0.1:9", "http_proxy": "http://127.0.0.1:9"}, "grpc_proxy"),
        ({"http_proxy": "http://127.0.0.1:9", "no_proxy": "glue.invalid"}, ""),
        ({"http_proxy": "http://127.0.0.1:9", "no_proxy": "localhost,.INVALID"}, ""),
        ({}, ""),
    ],
)
def test_a_proxy_of_the_environment_is_named_if_nobody_answers(
    monkeypatch: pytest.MonkeyPatch, variables: dict[str, str], named: str
) -> None:
    for name in ("no_proxy", "no_grpc_proxy", "http_proxy", "grpc_proxy", "https_proxy"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    with pytest.raises(Unreachable) as error:
        connect(Still(), "glue.invalid:4096", "token", connect_timeout_s=0.2)
    assert ("proxy" in str(error.value)) == bool(named)
    if named:
        assert_named([named, "no_proxy", "glue.invalid"], str(error.value))


@pytest.mark.parametrize(
    ("host", "exceptions", "is_direct"),
    [
        ("127.0.0.2", "127.0.0.0/8", True),
        ("127.0.0.2", "10.0.0.0/8, 127.0.0.3/31", True),
        ("127.0.0.2", "127.0.0.2", True),
        ("127.0.0.2", "127.1.0.0/16", False),
        ("127.0.0.2", "127.0.0.0/255.0.0.0", False),
        ("127.0.0.2", "127.0.0.0/", False),
        ("127.0.0.2", "::/0,*", False),
        ("[0:0::1]", "::/64", True),
        ("[0:0::1]", "127.0.0.0/8", False),
    ],
)
def test_a_proxy_is_named_where_grpc_asks_it_by_addresses(
    monkeypatch: pytest.MonkeyPatch, host: str, exceptions: str, is_direct: bool
) -> None:
    """Nobody listens where the proxy should be."""
    for name in ("no_grpc_proxy", "grpc_proxy", "https_proxy"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
    monkeypatch.setenv("no_proxy", exceptions)
    with GlueServer(f"{host}:0") as server:
        own = server.join_string("agent")
        own = replace(own, address=f"{host}:{own.address.rpartition(':')[2]}")
        if is_direct:
            assert lobby.join(own, AGENT, name="", connect_timeout_s=PATIENCE_S).session
        else:
            with raises(Unreachable, "http_proxy", "no_proxy", host):
                lobby.join(own, AGENT, name="", connect_timeout_s=0.2)
        there = replace(own, address=f"{host}:9")
        with pytest.raises(Unreachable) as error:
            lobby.join(there, AGENT, name="", connect_timeout_s=0.2)
    assert ("proxy" in str(error.value)) != is_direct


# Refused at the door.


def refused(server: GlueServer, kind: type[ReglueError], token: str | None = None) -> str:
    with pytest.raises(kind) as error:
        connect(Still(), server.address, token or server.token, connect_timeout_s=PATIENCE_S)
    assert error.type is kind
    return str(error.value)


def test_a_byte_order_mark_before_a_token_is_named(
    server: GlueServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As `$(cat file)` passes it on."""
    monkeypatch.setenv("REGLUE_TOKEN", f"\ufeff{server.token}")
    with raises(WrongToken, "byte order mark"):
        connect(Still(), server.address, connect_timeout_s=PATIENCE_S)


def test_a_wrong_token_is_told_in_words_for_people(server: GlueServer) -> None:
    words = refused(server, WrongToken, token="guess")
    assert words == (
        "wrong token: use the one that the host printed for this role, or set REGLUE_TOKEN to it"
    )


def test_a_wrong_version_is_told_in_words_for_people(
    server: GlueServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A client of the next version, as this one will one day be."""
    monkeypatch.setattr("reglue.net.lobby.PROTOCOL_MAJOR", 2)
    words = refused(server, WrongVersion)
    assert words == "got protocol version 2, wanted 1: use a client of this glue's version"


def test_a_wrong_role_is_told_in_words_for_people(
    server: GlueServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(Refused) as error:
        connect(Worlds(Corridor(solved=SOLVED)), server.address, server.token)
    assert str(error.value) == "got an environment, wanted an agent"


def test_no_refusal_speaks_of_its_transport(server: GlueServer) -> None:
    words = refused(server, WrongToken, token="guess").lower()
    assert not {"grpc", "status", "rpc", "unauthenticated"} & {*words.split()}


# Leaving.


def test_the_farewells_reason_is_returned(server: GlueServer, start: Start) -> None:
    agent = start(Still(), server.address, server.token)
    seated(server).close("thank you")
    assert agent.result(PATIENCE_S) == "thank you"


def test_a_server_that_closes_says_farewell_for_a_driver_that_did_not(
    server: GlueServer, start: Start
) -> None:
    agent = start(Still(), server.address, server.token)
    seated(server)
    server.close()
    assert agent.result(PATIENCE_S) == "the glue has closed"


def test_a_session_that_ends_without_farewell_is_lost(server: GlueServer, start: Start) -> None:
    agent = start(Still(), server.address, server.token)
    port: Any = seated(server)
    port._stream.end()
    with raises(SessionLost, "away"):
        agent.result(PATIENCE_S)


GLUE = """
from glue_server.rpc import GlueServer
server = GlueServer(token="secret")
print(server.address, flush=True)
server.next("agent", 60)
print("seated", flush=True)
input()
"""


def test_a_session_is_lost_when_the_glues_process_is_killed(start: Start) -> None:
    with program(GLUE, ROOT) as glue:
        assert glue.stdout is not None
        agent = start(Still(), glue.stdout.readline().strip(), "secret")
        assert glue.stdout.readline() == "seated\n"
        glue.kill()
        with raises(SessionLost, "away"):
            agent.result(PATIENCE_S)
