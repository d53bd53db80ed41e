"""One worker: its process, and our end of its channel."""

from __future__ import annotations

import contextlib
import math
import os
import socket
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from env_adapters import SuiteName
from glue_server.environment.shared_memory import write_play
from glue_server.processes.children import death_words, end_all, parent_to_die_with, python_path
from glue_server.processes.frames import read_frame, write_frame
from reglue.errors import EnvironmentFault, UsageError
from reglue.messages.environment import (
    EnvironmentCall,
    EnvironmentReady,
    EnvironmentReply,
    Play,
)
from reglue.v1 import environment_pb2 as pb
from reglue.wire.environment import decode_environment_reply, encode_environment_call
from reglue.wire.specs import spec_from_bytes

_STDERR = 2
_DIES_S = 1.0  # how long one whose channel is closed may take to exit
MOST_S = 1e8  # three years: sockets know no longer limit


@dataclass(slots=True)
class WorkerFaults:
    """What is wrong with a Play's answer; see Played."""

    faults: dict[int, str] = field(default_factory=dict)
    illegal: set[int] = field(default_factory=set)
    outside: int = 0

    @classmethod
    def of(cls, head: Mapping[str, Any]) -> WorkerFaults:
        """Those of a frame's head, which has none as a rule."""
        found = cls(outside=head.get("outside", 0))
        for slot, what, is_illegal in head.get("faults", ()):
            found.faults[slot] = what
            if is_illegal:
                found.illegal.add(slot)
        return found

    def add(self, others: WorkerFaults) -> None:
        """Those of another worker."""
        self.faults |= others.faults
        self.illegal |= others.illegal
        self.outside += others.outside


class Worker(Protocol):
    """The environments of some slots, in a process here or on another machine."""

    @property
    def name(self) -> str:
        """For logs."""

    @property
    def pid(self) -> int:
        """The process id; 0 on another machine."""

    @property
    def left_s(self) -> float:
        """How long its oldest answer may still take; 0: it is late."""

    def filenos(self) -> Sequence[int]:
        """One of them is readable when an answer waits, or it is gone."""

    def init(self, slots: int) -> None:
        """Ask for env_init; `ready` waits for it, `share` comes next."""

    def ready(self, timeout_s: float) -> EnvironmentReady:
        """The answer to `init`. Raises UsageError, EnvironmentFault."""

    def share(self, memory: int) -> None:
        """Hand over the shared memory, by its descriptor."""

    def send(self, play: Play) -> None:
        """Ask for a Play, whose actions are in the shared arrays. Raises OSError: it is gone."""

    def receive(self) -> WorkerFaults:
        """The faults of the oldest Play. Raises EOFError or OSError: it is gone, or late."""

    def ask(self, call: EnvironmentCall) -> EnvironmentReply:
        """Have a routine of one slot carried out. Raises EOFError or OSError: it is gone."""

    def cleanup(self) -> None:
        """Let it close its environments."""

    def leave(self) -> None:
        """Close its channel: it ends soon."""

    def death(self) -> str:
        """How it died, in words, once it is gone; empty: nobody knows."""

    def end(self, within_s: float) -> None:
        """Wait until it has ended; kill it after that time."""


def end_at_once(worker: Worker) -> None:
    """End it, whatever it does."""
    worker.leave()
    worker.end(0.0)


class Silence:
    """How long a worker has not answered, while it owes answers."""

    def __init__(self, timeout_s: float) -> None:
        self._timeout_s = min(timeout_s, MOST_S)
        self._owes = 0  # answers
        self._until = math.inf  # when the oldest of them is late, monotonic seconds

    @property
    def left_s(self) -> float:
        """How long the oldest answer may still take; 0: it is late."""
        return max(0.0, self._until - time.monotonic())

    def asked(self) -> None:
        """It owes one more."""
        if not self._owes:
            self._until = time.monotonic() + self._timeout_s
        self._owes += 1

    def answered(self) -> None:
        """It owes one less."""
        self._owes -= 1
        self._until = time.monotonic() + self._timeout_s if self._owes else math.inf


class WorkerProcess:
    """Started at once; `ready` waits until it has its suite, `share` lets it play.

    Each answer may take `timeout_s` seconds; a worker that takes longer raises
    TimeoutError, an OSError.
    """

    def __init__(self, suite: SuiteName, log_file: Path | None, *, timeout_s: float) -> None:
        self._timeout_s = min(timeout_s, MOST_S)
        self._silence = Silence(timeout_s)
        self.channel, theirs = socket.socketpair()
        with theirs:
            self.process = _spawn(theirs.fileno(), log_file)
        self._ask({"factory": suite.factory, "config": dict(suite.config)})

    @property
    def name(self) -> str:
        """By its process id."""
        return f"worker {self.pid}"

    @property
    def pid(self) -> int:
        """The process id."""
        return self.process.pid

    @property
    def left_s(self) -> float:
        """How long its oldest answer may still take; 0: it is late."""
        return self._silence.left_s

    def filenos(self) -> Sequence[int]:
        """Of its channel."""
        return (self.channel.fileno(),)

    def init(self, slots: int) -> None:
        """Ask for env_init; `ready` waits for it, `share` comes next."""
        self._ask({"slots": slots})

    def ready(self, timeout_s: float) -> EnvironmentReady:
        """The answer to `init`. Raises UsageError, EnvironmentFault."""
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
        return EnvironmentReady(spec_from_bytes(bytes(body)), **head)

    def share(self, memory: int) -> None:
        """Hand over the shared memory, by its descriptor."""
        with contextlib.suppress(OSError):  # dead already: a Play finds out
            socket.send_fds(self.channel, [b"\0"], [memory])

    def send(self, play: Play) -> None:
        """Ask for a Play, whose actions are in the shared arrays. Raises OSError: it is gone."""
        self._silence.asked()
        write_play(self.channel, play)

    def receive(self) -> WorkerFaults:
        """The faults of the oldest Play; the rest is in the shared arrays.

        Raises EOFError or OSError if the worker is gone.
        """
        head, _ = read_frame(self.channel)
        self._silence.answered()
        return WorkerFaults.of(head)

    def ask(self, call: EnvironmentCall) -> EnvironmentReply:
        """Have a routine of one slot carried out. Raises EOFError or OSError: it is gone."""
        write_frame(
            self.channel,
            {"routine": True},
            encode_environment_call(0, call, None).SerializeToString(),
        )
        _, body = read_frame(self.channel)
        message = pb.EnvironmentReply.FromString(bytes(body))
        return decode_environment_reply(message, call, None)

    def cleanup(self) -> None:
        """Let it close its environments; nobody waits for that."""
        self._ask({"cleanup": True})

    def leave(self) -> None:
        """Close its channel."""
        self.channel.close()

    def death(self) -> str:
        """Its exit code or signal."""
        return death_words(self.process, _DIES_S)

    def end(self, within_s: float) -> None:
        """Wait until it has ended; kill it after that time."""
        end_all([self.process], within_s=within_s)

    def _ask(self, head: Mapping[str, Any]) -> None:
        with contextlib.suppress(OSError):  # dead already: `ready` says so
            write_frame(self.channel, head)


def _spawn(descriptor: int, log_file: Path | None) -> subprocess.Popen[bytes]:
    """Start a worker: no fork of our state, no share in the terminal's Ctrl-C."""
    if log_file:
        log_file.touch(mode=0o600)
    parent = str(parent_to_die_with())
    output = log_file.open("ab") if log_file else None
    try:
        return subprocess.Popen(
            [sys.executable, "-P", "-m", "glue_server.environment.worker", str(descriptor), parent],
            pass_fds=[descriptor],
            stdin=subprocess.DEVNULL,
            stdout=output or _STDERR,
            stderr=output or _STDERR,
            env=os.environ | python_path(),
            start_new_session=True,
        )
    finally:
        if output:
            output.close()
