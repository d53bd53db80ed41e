"""All that closes after Ctrl-C shares the time that is left: no part's own limit adds to it."""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from env_adapters import SuiteName
from glue_server.environment import worker_pool
from glue_server.peers import hosts
from glue_server.peers.hosts import ListenOptions, Program, ServedAgent
from glue_server.processes.interrupts import uninterrupted
from glue_server.rpc import GlueServer, handlers, server
from reglue.net.grpc_settings import grpc
from tests.glue_server.playing import SOLVED, in_workers
from tests.glue_server.rpc.peers import ask
from tests.waiting import halt, until

LONG_S = 3600.0  # each part's own limit, here: the test would not end
STAYS = """
import signal, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
print("stays", flush=True)
time.sleep(1e6)
"""


@pytest.fixture
def opened() -> Iterator[ExitStack]:
    with ExitStack() as opened:
        yield opened


def stopped_workers(opened: ExitStack, folder: Path) -> Callable[[], None]:
    pool, port = in_workers(SuiteName("tests.worlds:Corridor", {"solved": SOLVED}), 2, workers=2)
    for pid in port.processes:
        halt(pid)
    return pool.close


def a_program_that_stays(opened: ExitStack, folder: Path) -> Callable[[], None]:
    log = folder / "agent.log"
    host = ServedAgent(ListenOptions(), Program([sys.executable, "-c", STAYS], log, "."))
    until(lambda: "stays" in log.read_text(), "the program runs")
    return lambda: host.close("it is over")


def a_server_with_an_open_call(opened: ExitStack, folder: Path) -> Callable[[], None]:
    server = GlueServer()
    channel = opened.enter_context(grpc.insecure_channel(server.address))
    silent = threading.Event()
    call: Any = channel.stream_unary("/reglue.v1.LobbyService/Join")
    opened.callback(call.future(m for m in iter(silent.wait, True)).cancel)
    opened.callback(silent.set)
    ask(channel, token=server.token)  # behind it
    return server.close


@pytest.mark.parametrize(
    "what", [stopped_workers, a_program_that_stays, a_server_with_an_open_call]
)
def test_a_part_that_would_take_long_is_cut_off_in_time(
    what: Callable[[ExitStack, Path], Callable[[], None]],
    opened: ExitStack,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for module, limit in [
        (worker_pool, "_LEAVE_S"),
        (hosts, "_LEAVE_S"),
        (server, "_GRACE_S"),
        (handlers, "MESSAGE_S"),
    ]:
        monkeypatch.setattr(module, limit, LONG_S)
    close = what(opened, tmp_path)
    with uninterrupted(then_raise=False):
        signal.raise_signal(signal.SIGINT)
        close()
