"""One worker: its process, and our end of its channel."""

from __future__ import annotations

import contextlib
import math
import os
import socket
import subprocess
import sys
import time
from pathlib import Path

from env_adapters import SuiteName
from glue_server.processes.children import end_all, parent_to_die_with
from glue_server.processes.frames import read_frame, write_frame, write_play
from reglue.errors import EnvironmentFault, UsageError
from reglue.messages.environment import Play
from reglue.spec import TaskSpec
from reglue.wire.specs import spec_from_bytes

_STDERR = 2
_MOST_S = 1e8  # three years: sockets know no longer limit


class WorkerProcess:
    """Started at once; `built` waits until it has its suite, `share` lets it play.

    Each answer may take `timeout_s` seconds; a worker that takes longer raises
    TimeoutError, an OSError.
    """

    def __init__(
        self, suite: SuiteName, slots: int, log_file: Path | None, *, timeout_s: float
    ) -> None:
        self._timeout_s = min(timeout_s, _MOST_S)
        self._owes = 0  # answers
        self._until = math.inf  # when the oldest of them is late, monotonic seconds
        self.channel, theirs = socket.socketpair()
        with theirs:
            self.process = _spawn(theirs.fileno(), log_file)
        with contextlib.suppress(ConnectionError):  # dead already: built() says so
            config = dict(suite.config)
            write_frame(self.channel, {"factory": suite.factory, "config": config, "slots": slots})

    @property
    def left_s(self) -> float:
        """How long its oldest answer may still take; 0: it is late."""
        return max(0.0, self._until - time.monotonic())

    def built(self, timeout_s: float) -> TaskSpec:
        """What the worker says of its suite. Raises UsageError, EnvironmentFault."""
        self.channel.settimeout(timeout_s)
        try:
            head, body = read_frame(self.channel)
        except TimeoutError as error:
            what = f"a worker had not built its suite within {timeout_s:g} s"
            raise EnvironmentFault(what) from error
        except (EOFError, OSError) as error:
            raise EnvironmentFault("a worker died before it had built its suite") from error
        self.channel.settimeout(self._timeout_s)
        if "refused" in head:
            raise UsageError(head["refused"])
        return spec_from_bytes(bytes(body))

    def share(self, memory: int) -> None:
        """Hand over the board, by its descriptor. Raises OSError if the worker is gone."""
        socket.send_fds(self.channel, [b"\0"], [memory])

    def send(self, play: Play) -> None:
        """Ask for a Play, whose actions are on the board. Raises OSError if it is gone."""
        if not self._owes:
            self._until = time.monotonic() + self._timeout_s
        self._owes += 1
        write_play(self.channel, play)

    def receive(self) -> dict[int, str]:
        """The faults of the oldest Play; the rest is on the board.

        Raises EOFError or OSError if the worker is gone.
        """
        head, _ = read_frame(self.channel)
        self._owes -= 1
        self._until = time.monotonic() + self._timeout_s if self._owes else math.inf
        return dict(head.get("faults", ()))

    def kill(self) -> None:
        """End it, whatever it does."""
        self.channel.close()
        end_all([self.process], within_s=0.0)


def _spawn(descriptor: int, log_file: Path | None) -> subprocess.Popen[bytes]:
    """Start a worker: no fork of our state, no share in the terminal's Ctrl-C."""
    # The worker imports what we can import, a script's own folder too.
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    if log_file:
        log_file.touch(mode=0o600)
    parent = str(parent_to_die_with())
    output = log_file.open("ab") if log_file else None
    try:
        return subprocess.Popen(
            [sys.executable, "-m", "glue_server.environment.worker", str(descriptor), parent],
            pass_fds=[descriptor],
            stdin=subprocess.DEVNULL,
            stdout=output or _STDERR,
            stderr=output or _STDERR,
            env=environment,
            start_new_session=True,
        )
    finally:
        if output:
            output.close()
