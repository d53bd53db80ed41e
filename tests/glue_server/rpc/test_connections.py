"""The cost of strangers' connections and messages to a server: descriptors, memory, its end."""

from __future__ import annotations

import contextlib
import resource
import select
import socket
import struct
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from glue_server.rpc import GlueServer
from glue_server.rpc import server as server_module
from reglue.net.grpc_settings import grpc
from reglue.net.join_string import split_address
from tests.glue_server.rpc.peers import (
    CHECK,
    JOIN,
    PATIENCE_S,
    REFLECTION,
    SESSION,
    ask,
    denied,
)
from tests.programs import program
from tests.waiting import until

OPTIONS = server_module._OPTIONS
WATCH = "/grpc.health.v1.Health/Watch"


@pytest.mark.parametrize("method", [JOIN, CHECK, REFLECTION, WATCH])
def test_a_server_that_was_sent_nonsense_can_be_closed(method: str) -> None:
    """A message that does not parse must not leave a call without an end."""
    with GlueServer() as server, grpc.insecure_channel(server.address) as channel:
        as_bytes: Any = channel.stream_stream(method)
        calls = [as_bytes(iter([b"\xff\xff"])) for _ in range(3)]
        for call in calls:
            with contextlib.suppress(grpc.RpcError, StopIteration):
                next(call)
        closing = threading.Thread(target=server.close, daemon=True)
        closing.start()
        closing.join(PATIENCE_S)
        assert not closing.is_alive()


NEVER_ENDS = """
import os
from glue_server.rpc import GlueServer, handlers
from glue_server.rpc import server as server_module
from reglue.net.grpc_settings import grpc
from reglue.v1 import lobby_pb2

left_open = grpc.stream_stream_rpc_method_handler(
    lambda messages, _: messages, request_deserializer=lobby_pb2.JoinRequest.FromString
)
handlers.Handlers.service = lambda *_: left_open
server_module._STOP_S = 1.0
server = GlueServer()
print(server.address, flush=True)
input()
server.close()
print("closed", flush=True)
os._exit(0)
"""


def test_a_call_that_grpc_never_ends_does_not_keep_a_server_from_closing() -> None:
    """As one whose message grpc itself was to read, and could not."""
    with program(NEVER_ENDS, Path.cwd()) as glue:
        assert glue.stdin is not None
        assert glue.stdout is not None
        with grpc.insecure_channel(glue.stdout.readline().strip()) as channel:
            as_bytes: Any = channel.stream_stream(SESSION)
            with contextlib.suppress(grpc.RpcError):
                next(as_bytes(iter([b"\xff\xff"]), timeout=PATIENCE_S))
            glue.stdin.write("\n")
            glue.stdin.flush()
            assert select.select([glue.stdout], [], [], 2 * PATIENCE_S)[0]
            assert glue.stdout.readline() == "closed\n"


SERVES = """
import resource, sys
from glue_server.rpc import GlueServer

resource.setrlimit(resource.RLIMIT_NOFILE, (128, 128))
with GlueServer() as server:
    print(server.address, flush=True)
    sys.stdin.read()
"""


@contextlib.contextmanager
def another_process() -> Iterator[tuple[Path, str]]:
    """One that serves, and may have 128 descriptors: its folder in /proc, and its address."""
    with program(SERVES, Path.cwd()) as glue:
        assert glue.stdout is not None
        yield Path(f"/proc/{glue.pid}"), glue.stdout.readline().strip()


def test_calls_that_cannot_be_read_take_no_memory_for_good() -> None:
    """Each takes 19 kB where grpc's own deserializer is to read it, until its streams run out."""
    own_connection = [("grpc.use_local_subchannel_pool", 1)]
    with another_process() as (process, address):

        def resident_after(connections: int) -> int:
            for _ in range(connections):
                with grpc.insecure_channel(address, own_connection) as channel:
                    as_bytes: Any = channel.unary_unary(JOIN)
                    for _ in range(100):
                        with pytest.raises(grpc.RpcError):
                            as_bytes(b"\xff\xff", timeout=PATIENCE_S)
            return int((process / "statm").read_text().split()[1]) * resource.getpagesize()

        assert -resident_after(5) + resident_after(15) < 10_000_000


def test_connections_that_say_nothing_leave_descriptors_for_others() -> None:
    """Looked at all the time: after a while those that say nothing are let go anyway."""
    with another_process() as (process, address), contextlib.ExitStack() as closing:
        host, port = split_address(address)
        used: list[int] = []
        poll = select.poll()
        for _ in range(200):
            idle = closing.enter_context(socket.socket())
            idle.setblocking(False)
            idle.connect_ex((host, port))
            poll.register(idle, select.POLLIN)

        def all_are_met() -> bool:
            used.append(len([*(process / "fd").iterdir()]))
            return len(poll.poll(100)) == 200

        until(all_are_met, "each connection is greeted, or let go")
        assert max(used) < 128 - 16


PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes([0, 0, 0, 4, 0, 0, 0, 0, 0])
"""The beginning of a connection: HTTP/2's magic words, and empty SETTINGS."""

SETTINGS, MAX_CONCURRENT_STREAMS = 4, 3  # HTTP/2's numbers


@pytest.mark.parametrize(
    ("limit", "said"),
    [("grpc.server_handshake_timeout_ms", b""), ("grpc.max_connection_idle_ms", PREFACE)],
)
def test_a_connection_without_a_call_is_ended(
    monkeypatch: pytest.MonkeyPatch, limit: str, said: bytes
) -> None:
    """By a limit of its own, a tenth of it here: keepalive's would take 20 s."""
    shorter = [(name, most // 10 if name == limit else most) for name, most in OPTIONS]
    monkeypatch.setattr(server_module, "_OPTIONS", shorter)
    with GlueServer() as server, socket.create_connection(split_address(server.address)) as idle:
        idle.settimeout(10.0)
        idle.sendall(said)
        while idle.recv(1000):
            pass


def test_a_connection_may_have_so_many_calls_at_a_time(server: GlueServer) -> None:
    """As the server says in its greeting, a frame of SETTINGS."""
    with socket.create_connection(split_address(server.address)) as idle:
        idle.settimeout(PATIENCE_S)
        idle.sendall(PREFACE)
        with idle.makefile("rb") as greeting:
            size, kind = greeting.read(3), greeting.read(6)[0]
            settings = greeting.read(int.from_bytes(size))
    assert kind == SETTINGS
    found = dict(struct.iter_unpack(">HI", settings))
    assert found[MAX_CONCURRENT_STREAMS] == 128


def test_what_is_compressed_is_refused(server: GlueServer) -> None:
    """60 kB would be 60 MB before anybody has looked at a token."""
    with (
        grpc.insecure_channel(server.address, compression=grpc.Compression.Gzip) as channel,
        denied("UNIMPLEMENTED", "'gzip'"),
    ):
        ask(channel, token=server.token, name="x" * 10_000)
