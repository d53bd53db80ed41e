"""Environments in processes of their own, which dial in to a run."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from glue_server.conformance.tcp_proxy import TcpProxy
from reglue.net.join_string import join_string
from reglue_bench.runs.observer import NullObserver, RunStarted

WORLDS = Path(__file__).with_name("remote_worlds.py")


class Joins(NullObserver):
    """Starts peers when a run says how to join it: environments, and agents it waits for."""

    def __init__(self, start: Callable[[str], None]) -> None:
        """`start` is told the address, or the join string, with which one joins."""
        self.said: list[str] = []
        self._start = start

    def say(self, text: str) -> None:
        self.said.append(text)
        if "for an environment" in text:
            self._start(address_in(text))


class Unheard(NullObserver):
    """Notes what is said, and when play begins."""

    def __init__(self) -> None:
        self.said: list[str] = []
        self.begun = threading.Event()

    def say(self, text: str) -> None:
        self.said.append(text)

    def begin(self, begun: RunStarted) -> None:
        self.begun.set()


def address_in(text: str) -> str:
    """A join string of the run that said how to join it."""
    words = text.replace("'", "").split()
    address = words[words.index("--address") + 1]
    if "--token" not in words:
        return address
    return str(join_string(address, words[words.index("--token") + 1]))


def joining(peer: str, where: str, *arguments: str) -> list[str]:
    """The command of `reglue join`."""
    words = [sys.executable, "-m", "reglue", "join", peer, "--address", where]
    return words + [word for each in arguments for word in ("--arg", each)]


@contextmanager
def dialling(
    peer: str, *arguments: str, proxy: TcpProxy | None = None
) -> Iterator[tuple[Joins, list[subprocess.Popen[str]]]]:
    """A watcher that starts `reglue join PEER` when asked, and the processes it started.

    With a `proxy`, the environment connects through it.
    """
    started: list[subprocess.Popen[str]] = []

    def start(where: str) -> None:
        if proxy is not None:
            invited = join_string(where)
            proxy.target = invited.address
            where = str(join_string(proxy.address, invited.token))
        started.append(
            subprocess.Popen(
                joining(peer, where, *arguments),
                stderr=subprocess.PIPE,
                text=True,
                env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},
            )
        )

    try:
        yield Joins(start), started
    finally:
        end(started)


def end(processes: Sequence[subprocess.Popen[str]]) -> list[str]:
    """Wait until they have left, with force after a while; what they said."""
    said = []
    for process in processes:
        try:
            said.append(process.communicate(timeout=15)[1] or "")
        except (subprocess.TimeoutExpired, ValueError):
            process.kill()
            process.wait()
            if process.stderr is not None:
                process.stderr.close()
    return said


@contextmanager
def kept_up(peer: str, *arguments: str) -> Iterator[Joins]:
    """A watcher that starts `reglue join PEER` when asked, and again whenever it has died."""
    joins, is_over = dialling(peer, *arguments), threading.Event()
    with joins as (watcher, started):
        start, threads = watcher._start, list[threading.Thread]()

        def keep(where: str) -> None:
            while not is_over.is_set():
                start(where)
                if started[-1].wait() >= 0:  # it left by itself
                    return

        def begin(where: str) -> None:
            threads.append(threading.Thread(target=keep, args=(where,)))
            threads[-1].start()

        watcher._start = begin
        try:
            yield watcher
        finally:
            is_over.set()
            for thread in threads:
                thread.join()
