"""The cost of many silent sessions."""

from __future__ import annotations

import resource
import threading
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from glue_server.rpc import GlueServer
from reglue.net.grpc_settings import grpc
from tests.glue_server.rpc.peers import RawUnixSocket, ask, seated

SESSIONS = 1000
MOST_BYTES = 50_000  # of memory, for each
DESCRIPTORS = 4096


@pytest.fixture
def descriptors() -> Iterator[None]:
    """As many as both ends of all sessions need."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = DESCRIPTORS if hard == resource.RLIM_INFINITY else min(DESCRIPTORS, hard)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, wanted), hard))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


@pytest.mark.usefixtures("descriptors")
def test_a_thousand_idle_sessions_take_no_threads_and_little_memory() -> None:
    """Over the Unix socket a session is a socket and a small buffer until something comes."""
    with GlueServer(places={"agent": SESSIONS + 1}) as server, ExitStack() as closing:
        channel = closing.enter_context(grpc.insecure_channel(server.address))
        _join(server, channel, closing)  # loads what the first one needs
        before_bytes, before_threads = _resident_bytes(), _of_sessions()
        for _ in range(SESSIONS):
            _join(server, channel, closing)
        ports = [seated(server) for _ in range(SESSIONS + 1)]
        assert all(port.is_connected for port in ports)  # type: ignore[attr-defined]
        assert _of_sessions() <= before_threads  # one of an earlier test may have ended
        assert _resident_bytes() - before_bytes < SESSIONS * MOST_BYTES


def _join(server: GlueServer, channel: grpc.Channel, closing: ExitStack) -> None:
    """One more agent, which says hello and nothing else."""
    ticket = ask(channel, token=server.tokens["agent"])
    welcome = closing.enter_context(RawUnixSocket(ticket)).enter()
    assert welcome.code == 0, welcome.why


def _of_sessions() -> set[str]:
    """Threads, but those that answer joins, which come and go."""
    return {
        thread.name for thread in threading.enumerate() if not thread.name.startswith("reglue-call")
    }


def _resident_bytes() -> int:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize()
