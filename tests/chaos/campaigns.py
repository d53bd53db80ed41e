"""Disturbances of runs, one function a campaign: a try of it raises Broken, or nothing."""

from __future__ import annotations

import random
import shutil
import signal
import socket
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias, TypeVar

from glue_server.conformance.tcp_proxy import TcpProxy
from reglue.net.grpc_settings import grpc
from reglue.v1 import lobby_pb2, lobby_pb2_grpc
from reglue_bench.results.result import read_result
from reglue_competition.store import Store, migrate
from reglue_competition.store.database import sqlite_url
from tests.chaos.trial import (
    Broken,
    check_exit,
    check_rows,
    dialled_in,
    finished,
    free_address,
    last,
    processes,
    send,
    sqlite_text,
    undisturbed,
    wait_for_play,
)
from tests.reglue_bench.benching import commanded
from tests.reglue_bench.toys import rows
from tests.reglue_competition.runs.test_kills import kill_servers

Campaign: TypeAlias = Callable[[random.Random, Path], None]
"""One try in a folder of its own."""

Thing = TypeVar("Thing")

_PLAY_S = 1.5  # about how long a run plays
_MOST_MB = 1024  # of a run that strangers flood
_STRANGER_S = 0.005  # between two calls of a stranger: the run needs a core, too


def kills(rng: random.Random, folder: Path) -> None:
    """kill -9 of the run, a worker or its agent: no row is lost, doubled or changed."""
    with commanded(sqlite_text(folder / "run")) as command:
        victim = rng.choice(["run", "worker", "agent"])
        if rng.random() < 0.8:
            wait_for_play(command)
        time.sleep(rng.uniform(0.0, _PLAY_S))
        send(rng.choice(processes(command, victim) or [command.process.pid]), signal.SIGKILL)
        check_exit(command, {0, 1, -signal.SIGKILL})
    check_rows(folder / "run")


def presses(rng: random.Random, folder: Path) -> None:
    """Ctrl-C, once or twice: soon over, nobody left, and resumable."""
    with commanded(sqlite_text(folder / "run", agent=rng.choice(["Seeded", "Stays"]))) as command:
        wait_for_play(command)
        time.sleep(rng.uniform(0.0, _PLAY_S))
        for gap_s in rng.choice([(0.0,), (0.0, 0.0), (0.0, rng.uniform(0.0, 1.0))]):
            time.sleep(gap_s)
            send(command.process.pid, signal.SIGINT)
        said = check_exit(command, {0, 130})
        if not (folder / "run" / "result.json").exists():
            raise Broken(f"no result: {last(said)}")
    check_rows(folder / "run")


def hangs(rng: random.Random, folder: Path) -> None:
    """SIGSTOP of a worker goes unnoticed; of an agent, it ends by its time limit."""
    victim = rng.choice(["worker", "agent"])
    limits = ["--environment-timeout", "3", "--step-timeout", "3"]
    with commanded(sqlite_text(folder / "run", *limits)) as command:
        wait_for_play(command)
        time.sleep(rng.uniform(0.0, _PLAY_S / 2))
        for pid in processes(command, victim)[-1:]:
            send(pid, signal.SIGSTOP)
        check_exit(command, {0} if victim == "worker" else {0, 1})
    check_rows(folder / "run")


def cuts(rng: random.Random, folder: Path) -> None:
    """A proxy cuts the agent's connection: every turn counts once."""
    address = free_address()
    with TcpProxy(address) as proxy, dialled_in(folder / "run", address, proxy.address) as run:
        while run.process.poll() is None:
            time.sleep(rng.uniform(0.0, 0.5))
            proxy.cut()
        check_exit(run, {0})
        if rows(read_result(folder / "run")) != undisturbed():
            raise Broken("got rows that differ")


def floods(rng: random.Random, folder: Path) -> None:
    """Strangers' messages: the run goes on, and its memory stays bounded."""
    address, over = free_address(), threading.Event()
    with dialled_in(folder / "run", address, address) as run:
        flood = rng.choice([_undecodable, _half_open, _big])
        strangers = [threading.Thread(target=flood, args=(address, over)) for _ in range(3)]
        for stranger in strangers:
            stranger.start()
        most_kb = 0
        try:
            while run.process.poll() is None:
                most_kb = max(most_kb, _memory_kb(run.process.pid))
                time.sleep(0.05)
        finally:
            over.set()
            for stranger in strangers:
                stranger.join(20.0)
        if any(stranger.is_alive() for stranger in strangers):
            raise Broken(f"{flood.__name__}: a stranger's call is not ended")
        check_exit(run, {0})
        if most_kb > 1024 * _MOST_MB:
            raise Broken(f"{flood.__name__}: got {most_kb // 1024} MB, wanted {_MOST_MB} at most")
        if rows(read_result(folder / "run")) != undisturbed():
            raise Broken("got rows that differ")


def flips(rng: random.Random, folder: Path) -> None:
    """One bit of a finished ledger: noticed, or the same score; never a traceback."""
    done = finished(folder / "run")
    before = read_result(done)
    ledger = done / "ledger.sqlite"
    data = bytearray(ledger.read_bytes())
    bit = rng.randrange(8 * len(data))
    data[bit // 8] ^= 1 << bit % 8
    for name in ("report", "resume", "watch"):
        copy = folder / name
        shutil.copytree(done, copy)
        (copy / "ledger.sqlite").write_bytes(data)
        words = {
            "report": ["report", str(copy)],
            "resume": ["bench", "--resume", str(copy)],
            "watch": ["watch", str(copy), "--episode", str(rng.randrange(30))],
        }[name]
        with commanded(words) as command:
            code, said = command.ended()
        if "Traceback" in said:
            raise Broken(f"bit {bit}, {name}: a traceback: {last(said)}")
        if name == "resume" and code == 0:
            after = read_result(copy)
            if rows(after) != rows(before) or after.mean_success_rate != before.mean_success_rate:
                raise Broken(f"bit {bit}: --resume made another score without a word")


def servers(rng: random.Random, folder: Path) -> None:
    """kill -9 of a competition's servers: no submission is lost, or scored twice."""
    migrate(url := sqlite_url(folder / "competition.sqlite"))
    with Store(url) as store:
        kill_servers(rng, folder, store, url)


CAMPAIGNS: Mapping[str, Campaign] = {
    each.__name__: each for each in (kills, presses, hangs, cuts, floods, flips, servers)
}


def _undecodable(address: str, over: threading.Event) -> None:
    with grpc.insecure_channel(address) as channel:
        for method in _until(over, ["/reglue.v1.LobbyService/Join", "/no.Such/Method"]):
            call: Any = channel.unary_unary(method)
            _try(partial(call, b"\xff\xff", timeout=5.0))


def _big(address: str, over: threading.Event) -> None:
    request = lobby_pb2.JoinRequest(token="x" * (16 << 20))
    with grpc.insecure_channel(address, [("grpc.max_send_message_length", -1)]) as channel:
        join = lobby_pb2_grpc.LobbyServiceStub(channel).Join
        for _ in _until(over, [None]):
            _try(partial(join, request, timeout=5.0))


def _half_open(address: str, over: threading.Event) -> None:
    """Connections that say nothing, or begin a call and leave it."""
    host, _, port = address.rpartition(":")
    held: list[socket.socket] = []
    for hello in _until(over, [b"", b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", b"\xff" * 64]):
        if len(held) >= 50:
            held.pop(0).close()
        try:
            held.append(socket.create_connection((host, int(port)), timeout=2.0))
            held[-1].sendall(hello)
        except OSError:
            time.sleep(0.01)
    for each in held:
        each.close()


def _until(over: threading.Event, things: Sequence[Thing]) -> Iterator[Thing]:
    while not over.is_set():
        for thing in things:
            yield thing
            over.wait(_STRANGER_S)


def _try(call: Callable[[], object]) -> None:
    with suppress(grpc.RpcError):
        call()


def _memory_kb(pid: int) -> int:
    try:
        status = Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return 0
    return next((int(line.split()[1]) for line in status.splitlines() if "VmRSS" in line), 0)
