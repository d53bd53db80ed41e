"""Environments in processes of their own, which dial in to a run."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from glue_server.conformance.tcp_proxy import Road
from reglue.net.join_string import invitation
from reglue_bench.terminal.observer import Begun, Unwatched

WORLDS = Path(__file__).with_name("remote_worlds.py")


class Joins(Unwatched):
    """Starts partners when a run says how to join it: environments, and agents it waits for."""

    def __init__(self, start: Callable[[str], None]) -> None:
        """`start` is told the address, or the join string, with which one joins."""
        self.said: list[str] = []
        self._start = start

    def say(self, text: str) -> None:
        self.said.append(text)
        if "for an environment" in text:
            self._start(address_in(text))


class Unheard(Unwatched):
    """Notes what is said, and when play begins."""

    def __init__(self) -> None:
        self.said: list[str] = []
        self.begun = threading.Event()

    def say(self, text: str) -> None:
        self.said.append(text)

    def begin(self, begun: Begun) -> None:
        self.begun.set()


def address_in(text: str) -> str:
    """A join string of the run that said how to join it."""
    words = text.replace("'", "").split()
    address = words[words.index("--address") + 1]
    if "--token" not in words:
        return address
    return str(invitation(address, words[words.index("--token") + 1]))


def joining(partner: str, where: str, *arguments: str) -> list[str]:
    """The command of `reglue join`."""
    words = [sys.executable, "-m", "reglue", "join", partner, "--address", where]
    return words + [word for each in arguments for word in ("--arg", each)]


@contextmanager
def dialling(
    partner: str, *arguments: str, road: Road | None = None
) -> Iterator[tuple[Joins, list[subprocess.Popen[str]]]]:
    """A watcher that starts `reglue join PARTNER` when asked, and the processes it started.

    With a `road`, the environment comes along it.
    """
    started: list[subprocess.Popen[str]] = []

    def start(where: str) -> None:
        if road is not None:
            invited = invitation(where)
            road.target = invited.address
            where = str(invitation(road.address, invited.token))
        started.append(
            subprocess.Popen(
                joining(partner, where, *arguments),
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
