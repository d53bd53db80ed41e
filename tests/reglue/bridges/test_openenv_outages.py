"""A server of OpenEnv that is away for a while, as the connections to it show it."""

from __future__ import annotations

import socket
import struct
import threading
from collections.abc import Callable
from urllib.parse import urlsplit

import pytest

from reglue.bridges.openenv.openenv_environment import OpenEnv
from tests.leftovers import nothing_left
from tests.reglue.bridges.begun_worlds import start, step
from tests.reglue.bridges.openenv_servers import BentServer, bent

_RESET = struct.pack("ii", 1, 0)  # SO_LINGER: close() sends RST

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


@pytest.mark.parametrize("fail", [resets, ends, bad_gateway])
def test_connections_that_fail_until_it_is_back_fail_no_episode(
    fail: Callable[[socket.socket], None],
) -> None:
    is_over = threading.Event()

    def come_back(listener: socket.socket, port: int) -> None:
        with listener:
            for _ in range(_TRIES):
                connection, _ = listener.accept()
                with connection:
                    fail(connection)
        with bent(BentServer(), at=port):
            is_over.wait(60)

    with nothing_left():
        with bent(BentServer()) as url:
            environment = OpenEnv(url, answer_timeout_s=30)
            environment.spec = environment.env_init(1).with_slots(1)
            start(environment, [0])
        assert step(environment, 0).faults.keys() == {0}
        port = urlsplit(url).port or 0
        listener = socket.create_server(("127.0.0.1", port))
        server = threading.Thread(target=come_back, args=(listener, port))
        server.start()
        assert start(environment, [0]).faults == {}
        environment.env_cleanup()
        is_over.set()
        server.join()
