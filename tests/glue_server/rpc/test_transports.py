"""The way in that a peer takes: over a Unix socket or over gRPC."""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from glue_server.rpc import GlueServer
from reglue import Experiment, connect
from reglue.errors import BadArgument, UsageError
from reglue.net.glue_socket import HELLO_BYTES
from reglue.v1 import lobby_pb2
from tests.error_facts import raises
from tests.glue_server.playing import Follower
from tests.glue_server.rpc.peers import PATIENCE_S, frame, seated, ticket_of


@pytest.fixture
def mute(short_path: Path) -> Iterator[str]:
    """A Unix socket where somebody else answers every hello."""
    path = str(short_path / "agent")
    with socket.socket(socket.AF_UNIX) as listener, ThreadPoolExecutor(1) as threads:
        listener.bind(path)
        listener.listen()

        def answer() -> None:
            with listener.accept()[0] as end:
                end.recv(HELLO_BYTES)
                welcome = lobby_pb2.UnixSocketWelcome(proof=b"?" * 32)
                end.sendall(frame(welcome.SerializeToString()))

        answering: Future[None] = threads.submit(answer)
        yield path
        answering.result(PATIENCE_S)


def misled(server: Any, path: str) -> None:
    """Tickets name that path."""
    for places in server._lobby._places.values():
        places.terms = replace(places.terms, unix_socket_path=path)


def test_a_path_that_is_not_there_leads_to_grpc() -> None:
    with GlueServer() as server, ThreadPoolExecutor(1) as threads:
        misled(server, "/nowhere/reglue-0/agent")
        left = threads.submit(connect, Follower(), server.address, server.token)
        seated(server).close("over gRPC")
        assert left.result(PATIENCE_S) == "over gRPC"


@pytest.mark.parametrize(
    ("name", "mode", "why"),
    [
        ("reglue-1/docker.sock", 0o700, "reglue-…/agent|environment|experiment"),
        ("elsewhere/agent", 0o700, "reglue-…/agent|environment|experiment"),
        ("reglue-1/agent", 0o777, "owner"),
    ],
)
def test_a_glue_cannot_make_a_peer_speak_to_another_service(
    short_path: Path, name: str, mode: int, why: str
) -> None:
    path = short_path / name
    path.parent.mkdir()
    path.parent.chmod(mode)
    with GlueServer() as server, socket.socket(socket.AF_UNIX) as service:
        service.bind(str(path))
        service.listen()
        service.setblocking(False)
        misled(server, str(path))
        with raises(UsageError, path, why):
            connect(Follower(), server.address, server.token, transport="unix")
        with pytest.raises(BlockingIOError):
            service.accept()


@pytest.mark.parametrize("kind", ["file", "link"])
def test_what_is_no_socket_is_not_opened(short_path: Path, kind: str) -> None:
    path = short_path / "agent"
    path.write_text("") if kind == "file" else path.symlink_to("/dev/null")
    with GlueServer() as server:
        misled(server, str(path))
        with raises(UsageError, "socket", got="transport unix"):
            connect(Follower(), server.address, server.token, transport="unix")


def test_a_message_limit_beyond_grpcs_own_becomes_grpcs() -> None:
    with GlueServer(transport="grpc") as server, ThreadPoolExecutor(1) as threads:
        for places in server._lobby._places.values():
            places.terms = replace(places.terms, max_message_bytes=2**32 - 1)
        left = threads.submit(connect, Follower(), server.address, server.token)
        seated(server).close("it fits")
        assert left.result(PATIENCE_S) == "it fits"


def test_an_impostor_is_not_played_with(mute: str) -> None:
    with GlueServer() as server, ThreadPoolExecutor(1) as threads:
        misled(server, mute)
        left = threads.submit(connect, Follower(), server.address, server.token)
        seated(server).close("over gRPC")
        assert left.result(PATIENCE_S) == "over gRPC"


@pytest.fixture(params=["peer", "program"])
def over_the_unix_socket_alone(request: pytest.FixtureRequest) -> Callable[[GlueServer], object]:
    """Joins as a peer, or as a program, which says hello when it first asks."""

    def join(server: GlueServer) -> object:
        if request.param == "peer":
            return connect(Follower(), server.address, server.tokens["agent"], transport="unix")
        with Experiment(server.address, server.tokens["experiment"], transport="unix") as rl:
            return rl.init()

    return join


PLACES = {"agent": 1, "experiment": 1}


def test_who_wants_the_unix_socket_alone_is_told_at_once_that_there_is_none(
    over_the_unix_socket_alone: Callable[[GlueServer], object],
) -> None:
    """The reconnect window is for sessions that broke: trying again would make no Unix socket."""
    with (
        GlueServer(transport="grpc", places=PLACES, reconnect_window_s=1e6) as server,
        raises(UsageError, "transport unix", "auto or grpc", "Unix socket"),
    ):
        over_the_unix_socket_alone(server)


def test_who_wants_a_unix_socket_that_is_not_there_is_told_at_once(
    over_the_unix_socket_alone: Callable[[GlueServer], object],
) -> None:
    with GlueServer(places=PLACES, reconnect_window_s=1e6) as server:
        misled(server, "/nowhere/reglue-0/agent")
        with raises(UsageError, "/nowhere/reglue-0/agent", "REGLUE_UNIX_SOCKET_DIR"):
            over_the_unix_socket_alone(server)


def test_who_wants_the_unix_socket_alone_waits_for_a_glue_that_does_not_listen_now(
    short_path: Path,
) -> None:
    """It may be about to be started again."""
    path = str(short_path / "agent")
    with GlueServer(reconnect_window_s=PATIENCE_S) as server, ThreadPoolExecutor(1) as threads:
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind(path)
        unix_socket = ticket_of(server).unix_socket_path
        misled(server, path)
        left = threads.submit(connect, Follower(), server.address, server.token, transport="unix")
        assert server.next("agent", 0.2) is None
        Path(path).unlink()
        Path(path).hardlink_to(unix_socket)
        seated(server).close("at last")
        assert left.result(PATIENCE_S) == "at last"


def test_there_are_three_transports() -> None:
    with GlueServer() as server, raises(BadArgument, "'tcp'", "auto, grpc, unix"):
        connect(Follower(), server.address, server.token, transport="tcp")  # type: ignore[arg-type]
