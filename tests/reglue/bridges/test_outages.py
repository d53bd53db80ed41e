"""A server that is away for a while, as the connections to it show it."""

from __future__ import annotations

import socket
import struct
import threading
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import TypeAlias
from urllib.parse import urlsplit

import pytest

from reglue.bridges.dm_env_rpc.rpc_environment import DmEnvRpc
from reglue.bridges.openenv.openenv_environment import OpenEnv
from reglue.bridges.server_worlds import ServerWorlds
from tests.leftovers import nothing_left
from tests.reglue.bridges.begun_worlds import start, step
from tests.reglue.bridges.bent_openenv_server import BentServer, bent
from tests.reglue.bridges.dm_servers import GameServer, served

_RESET = struct.pack("ii", 1, 0)  # SO_LINGER: close() sends RST
_SETTINGS = b"\0\0\0\4\0\0\0\0\0"  # an empty frame of HTTP/2, with which its server begins

_TRIES = 3  # connections that fail before the server is back


def resets(connection: socket.socket) -> None:
    """As a server that is killed while a connection waits to be accepted."""
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)


def ends(connection: socket.socket) -> None:
    """As a server that ends while it reads the request."""
    connection.recv(65_536)


def bad_gateway(connection: socket.socket) -> None:
    """As a proxy in front of a server that is away."""
    connection.recv(65_536)
    connection.sendall(b"HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\n\r\n")


def breaks_streams(connection: socket.socket) -> None:
    """As a server of gRPC that is killed once it has got the requests."""
    connection.sendall(_SETTINGS)
    while (received := connection.recv(65_536)) and b"Process" not in received:
        pass
    resets(connection)


def openenv(at: int = 0) -> AbstractContextManager[str]:
    return bent(BentServer(), at=at)


def dm_env_rpc(at: int = 0) -> AbstractContextManager[str]:
    return served(GameServer(), at=at)


Serving: TypeAlias = Callable[..., AbstractContextManager[str]]


@pytest.mark.parametrize(
    ("kind", "serving", "fail"),
    [
        (OpenEnv, openenv, resets),
        (OpenEnv, openenv, ends),
        (OpenEnv, openenv, bad_gateway),
        (DmEnvRpc, dm_env_rpc, resets),
        (DmEnvRpc, dm_env_rpc, breaks_streams),
    ],
)
def test_connections_that_fail_until_it_is_back_fail_no_episode(
    kind: Callable[..., ServerWorlds], serving: Serving, fail: Callable[[socket.socket], None]
) -> None:
    is_over = threading.Event()

    def come_back(listener: socket.socket, port: int) -> None:
        with listener:
            for _ in range(_TRIES):
                connection, _ = listener.accept()
                with connection:
                    fail(connection)
        with serving(port):
            is_over.wait(60)

    with nothing_left():
        with serving() as address:
            environment = kind(address, answer_timeout_s=30)
            environment.spec = environment.env_init(1).with_slots(1)
            start(environment, [0])
        assert step(environment, 0).faults.keys() == {0}
        port = urlsplit(address if "//" in address else f"//{address}").port or 0
        listener = socket.create_server(("127.0.0.1", port))
        server = threading.Thread(target=come_back, args=(listener, port))
        server.start()
        assert start(environment, [0]).faults == {}
        environment.env_cleanup()
        is_over.set()
        server.join()
