"""A Unix socket's frames: whole and in order, however little the socket takes at once."""

from __future__ import annotations

import socket
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from reglue.net.unix_socket import UnixSocket, UnixSocketEnded
from tests.glue_server.rpc.peers import PATIENCE_S, frame

MOST = 1 << 22
TINY = 4608  # bytes that a socket's buffer is asked to hold: about the least that Linux grants


@pytest.fixture
def ends() -> Iterator[tuple[UnixSocket, socket.socket]]:
    """A Unix socket whose socket holds next to nothing, and the bare other end, which blocks."""
    ours, theirs = socket.socketpair()
    ours.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, TINY)
    theirs.settimeout(PATIENCE_S)
    unix_socket = UnixSocket(ours, MOST)
    with theirs:
        yield unix_socket, theirs
    unix_socket.close()


def noise(size: int) -> bytes:
    return np.random.default_rng(size).bytes(size)


def read(end: socket.socket, size: int, at_once: int = MOST) -> bytes:
    """Exactly that many bytes, a few at a time."""
    data = bytearray()
    while len(data) < size:
        more = end.recv(min(at_once, size - len(data)))
        assert more, "the other end has closed"
        data += more
    return bytes(data)


def test_messages_larger_than_the_socket_arrive_whole_and_in_order(
    ends: tuple[UnixSocket, socket.socket],
) -> None:
    """Whoever reads takes a few bytes at a time."""
    unix_socket, end = ends
    messages = [noise(size) for size in (300_000, 0, 1, 70_000)]
    wanted = b"".join(map(frame, messages))
    with ThreadPoolExecutor(1) as threads:
        reading = threads.submit(read, end, len(wanted), 777)
        for message in messages:
            assert len(unix_socket.send(message)) == 0
        assert reading.result(PATIENCE_S) == wanted


def test_what_was_not_sent_in_time_is_sent_later(ends: tuple[UnixSocket, socket.socket]) -> None:
    unix_socket, end = ends
    message = noise(100_000)
    rest = unix_socket.send(message, 0.0)
    sent = len(frame(message)) - len(rest)
    assert 4 < sent < len(message)
    assert bytes(rest) == message[sent - 4 :]
    before = read(end, sent)
    with ThreadPoolExecutor(1) as threads:
        reading = threads.submit(read, end, len(rest), 777)
        assert len(unix_socket.send_rest(rest)) == 0
        assert before + reading.result(PATIENCE_S) == frame(message)


def test_a_frame_of_which_nothing_fits_is_kept_whole(
    ends: tuple[UnixSocket, socket.socket],
) -> None:
    unix_socket, _ = ends
    while not unix_socket.send(b"", 0.0):  # until the socket holds no header more
        pass
    for message in (b"", b"more"):
        assert bytes(unix_socket.send(message, 0.0)) == frame(message)


def test_who_reads_no_more_ends_the_sending(ends: tuple[UnixSocket, socket.socket]) -> None:
    unix_socket, end = ends
    rest = unix_socket.send(noise(100_000), 0.0)
    assert rest
    end.close()
    with pytest.raises(UnixSocketEnded):
        unix_socket.send_rest(rest)
    with pytest.raises(UnixSocketEnded):
        unix_socket.send(b"more")


def test_two_unix_sockets_pass_large_messages_both_ways() -> None:
    ours, theirs = (UnixSocket(end, MOST) for end in socket.socketpair())
    message = noise(MOST)
    with ThreadPoolExecutor(1) as threads:
        sending = threads.submit(ours.send, message)
        assert theirs.receive(PATIENCE_S) == message
        assert len(sending.result(PATIENCE_S)) == 0
        sending = threads.submit(theirs.send, message)
        assert ours.receive(PATIENCE_S) == message
        assert len(sending.result(PATIENCE_S)) == 0
    ours.close()
    theirs.close()


def test_who_waits_looks_up_now_and_then_and_keeps_the_time(
    ends: tuple[UnixSocket, socket.socket], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Or a Ctrl-C that comes right before a poll would not be heard until something comes."""
    monkeypatch.setattr("reglue.net.unix_socket._LOOK_UP_S", 0.02)
    unix_socket, end = ends
    naps: list[float] = []
    readable = unix_socket._readable

    class Counted:
        def poll(self, most_ms: float) -> object:
            naps.append(most_ms)
            if naps.count(20.0) == 10:
                end.sendall(frame(b"late"))
            return readable.poll(most_ms)

    monkeypatch.setattr(unix_socket, "_readable", Counted())
    began = time.monotonic()
    assert unix_socket.receive(0.1) is None
    assert time.monotonic() - began >= 0.1
    assert unix_socket.receive() == b"late"
    assert max(naps) <= 20.0
