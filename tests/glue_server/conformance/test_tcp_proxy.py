"""A proxy passes bytes on until it is cut."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import suppress

import pytest

from glue_server.conformance.tcp_proxy import TcpProxy
from tests.leftovers import nothing_left

PATIENCE_S = 10.0


@pytest.fixture
def target() -> Iterator[socket.socket]:
    with nothing_left(), socket.create_server(("127.0.0.1", 0)) as target:
        target.settimeout(PATIENCE_S)
        yield target


def address(of: socket.socket) -> str:
    host, port = of.getsockname()
    return f"{host}:{port}"


def dial(proxy: TcpProxy) -> socket.socket:
    host, _, port = proxy.address.rpartition(":")
    return socket.create_connection((host, int(port)), timeout=PATIENCE_S)


def test_bytes_go_both_ways(target: socket.socket) -> None:
    with TcpProxy(address(target)) as proxy, dial(proxy) as near, target.accept()[0] as far:
        near.sendall(b"there")
        assert far.recv(5, socket.MSG_WAITALL) == b"there"
        far.sendall(b"and back")
        assert near.recv(8, socket.MSG_WAITALL) == b"and back"
        assert (proxy.connections, proxy.cuts) == (1, 0)


def test_a_cut_ends_what_is_connected_and_nothing_later(target: socket.socket) -> None:
    with TcpProxy(address(target)) as proxy:
        with dial(proxy) as near, target.accept()[0] as far:
            near.sendall(b"x")
            far.recv(1)
            proxy.cut()
            assert (near.recv(1), far.recv(1)) == (b"", b"")
        with dial(proxy) as near, target.accept()[0] as far:
            near.sendall(b"y")
            assert far.recv(1) == b"y"
        assert proxy.cuts == 1


def test_who_hangs_up_is_heard_at_the_other_end(target: socket.socket) -> None:
    with TcpProxy(address(target)) as proxy, dial(proxy) as near, target.accept()[0] as far:
        far.shutdown(socket.SHUT_RDWR)
        assert near.recv(1) == b""


def test_who_sends_no_more_still_gets_the_last_words(target: socket.socket) -> None:
    with TcpProxy(address(target)) as proxy, dial(proxy) as near, target.accept()[0] as far:
        near.shutdown(socket.SHUT_WR)
        assert far.recv(1) == b""
        far.sendall(b"farewell")
        assert near.recv(8, socket.MSG_WAITALL) == b"farewell"


@pytest.mark.parametrize("nowhere", ["", "127.0.0.1:1"])
def test_who_comes_while_nobody_listens_is_turned_away(nowhere: str) -> None:
    with nothing_left(), TcpProxy(nowhere) as proxy, dial(proxy) as near:
        assert near.recv(1) == b""
        assert (proxy.refused, proxy.connections) == (1, 0)


def test_a_proxy_that_is_closed_ends_what_is_connected(target: socket.socket) -> None:
    proxy = TcpProxy(address(target))
    with dial(proxy) as near, target.accept()[0]:
        near.sendall(b"x")
        proxy.close()
        proxy.close()
        with suppress(ConnectionResetError):  # where the byte was still to be read
            assert near.recv(1) == b""
