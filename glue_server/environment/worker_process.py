"""One worker: its process, and the messages between it and the glue."""

from __future__ import annotations

import contextlib
import math
import socket
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol, TypeAlias

from env_adapters import Cell, SuiteName
from glue_server.processes.child import Child
from glue_server.processes.message_codec import Codec, unexpected
from reglue.errors import EnvironmentFault, EnvironmentLost, UsageError
from reglue.messages.environment_messages import (
    EnvironmentCall,
    EnvironmentInit,
    EnvironmentReady,
    EnvironmentReply,
    Play,
)
from reglue.v1 import environment_pb2 as pb
from reglue.wire.environment_encoding import decode_environment_reply, encode_environment_call

_DIES_S = 1.0  # how long one whose channel is closed may take to exit
MOST_S = 1e8  # three years: sockets know no longer limit


@dataclass(frozen=True, slots=True)
class Init:
    """env_init. `CanPlay` answers, then comes the shared memory's descriptor, or `CannotBuild`."""

    slots: int
    is_replacement: bool  # of a worker that was there before; see Environment


@dataclass(frozen=True, slots=True)
class StepAndStart:
    """A Play in which episodes begin; its actions are in the shared memory."""

    slots: bytes  # that take a step, uint32
    starts: tuple[tuple[int, Cell], ...]  # slot, and the episode that begins


@dataclass(frozen=True, slots=True)
class Routine:
    """A routine of one slot, or a message, which a `RoutineReply` answers."""

    call: bytes  # an EnvironmentCall of the protocol


@dataclass(frozen=True, slots=True)
class CleanUp:
    """env_cleanup; it has no answer."""


ToWorker: TypeAlias = SuiteName | Init | bytes | StepAndStart | Routine | CleanUp
"""SuiteName comes first, and once. Bytes are the slots of a Play in which no episode begins."""

TO_WORKER: Codec[ToWorker] = Codec(ToWorker)


@dataclass(frozen=True, slots=True)
class CanPlay:
    """The answer to env_init."""

    reply: bytes  # an EnvironmentReply of the protocol: an EnvironmentReady


@dataclass(frozen=True, slots=True)
class CannotBuild:
    """The suite cannot be built; the worker ends."""

    why: str


DONE = b""
"""A Play was played, and nothing was wrong; what came of it is in the shared memory."""


@dataclass(frozen=True, slots=True)
class DoneWithFaults:
    """As `DONE`, but something was wrong; see Played."""

    faults: tuple[tuple[int, str, bool], ...]  # slot, what, whether an illegal action caused it
    outside: int


@dataclass(frozen=True, slots=True)
class Lost:
    """Answers a Play if the environment raised EnvironmentLost."""

    why: str


@dataclass(frozen=True, slots=True)
class RoutineReply:
    """Answers a `Routine`."""

    reply: bytes  # an EnvironmentReply of the protocol


FromWorker: TypeAlias = CanPlay | CannotBuild | bytes | DoneWithFaults | Lost | RoutineReply
"""Bytes are `DONE`."""

_FROM_WORKER: Codec[FromWorker] = Codec(FromWorker)


@dataclass(slots=True)
class WorkerFaults:
    """Faults in the answer to a Play; see Played."""

    faults: dict[int, str] = field(default_factory=dict)
    illegal: set[int] = field(default_factory=set)
    outside: int = 0

    def add(self, others: WorkerFaults) -> None:
        """Add the faults of another worker."""
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
        """Seconds that its oldest answer may still take; 0: it is late."""

    def filenos(self) -> Sequence[int]:
        """One of them is readable when an answer waits, or it is gone."""

    def init(self, slots: int, *, is_replacement: bool = False) -> None:
        """Ask for env_init; `ready` waits for it, `share` comes next.

        `is_replacement`: it replaces a worker that was ready; see Environment.
        """

    def ready(self, timeout_s: float) -> EnvironmentReady:
        """The answer to `init`. Raises UsageError, EnvironmentFault."""

    def share(self, memory: int) -> None:
        """Hand over the shared memory, by its descriptor."""

    def send(self, play: Play) -> None:
        """Ask for a Play, whose actions are in the shared arrays. Raises OSError: it is gone."""

    def receive(self) -> WorkerFaults:
        """The faults of the oldest Play. Raises EOFError or OSError: it is gone, or late; and
        EnvironmentLost.
        """

    def ask(self, call: EnvironmentCall) -> EnvironmentReply:
        """Carry out a message or a slot's routine. Raises EOFError or OSError: it is gone."""

    def cleanup(self) -> None:
        """Let it close its environments."""

    def leave(self) -> None:
        """Close its channel: it ends soon."""

    def death(self) -> str:
        """The cause of its death, in words, once it is gone; empty: unknown."""

    def end(self, within_s: float) -> None:
        """Wait until it has ended; kill it after that time."""


def end_at_once(worker: Worker) -> None:
    """End it, whatever it does."""
    worker.leave()
    worker.end(0.0)


class Silence:
    """The time without an answer from a worker that owes answers."""

    def __init__(self, timeout_s: float) -> None:
        self._timeout_s = min(timeout_s, MOST_S)
        self._owes = 0  # answers
        self._until = math.inf  # when the oldest of them is late, monotonic seconds

    @property
    def left_s(self) -> float:
        """Seconds that the oldest answer may still take; 0: it is late."""
        return max(0.0, self._until - time.monotonic())

    def note_call(self) -> None:
        """It owes one more."""
        if not self._owes:
            self._until = time.monotonic() + self._timeout_s
        self._owes += 1

    def note_answer(self) -> None:
        """It owes one less."""
        self._owes -= 1
        self._until = time.monotonic() + self._timeout_s if self._owes else math.inf


class WorkerProcess:
    """Started at once; `ready` waits until it has its suite, `share` lets it play.

    Each answer may take `timeout_s` seconds; a worker that takes longer raises
    TimeoutError, an OSError.
    """

    def __init__(self, suite: SuiteName, log_file: Path | None, *, timeout_s: float) -> None:
        self._silence = Silence(timeout_s)
        self._answers_within_s = min(timeout_s, MOST_S)
        self._child = Child(
            "glue_server.environment.worker",
            _FROM_WORKER,
            silence_s=self._answers_within_s,
            log_file=log_file,
            prints_to_stderr=True,
        )
        self._ask(SuiteName(suite.factory, dict(suite.config)))

    @property
    def name(self) -> str:
        return f"worker {self.pid}"

    @property
    def pid(self) -> int:
        return self._child.pid

    @property
    def left_s(self) -> float:
        return self._silence.left_s

    def filenos(self) -> Sequence[int]:
        return (self._child.fileno(),)

    def init(self, slots: int, *, is_replacement: bool = False) -> None:
        self._ask(Init(slots, is_replacement))

    def ready(self, timeout_s: float) -> EnvironmentReady:
        try:
            answer = self._child.receive(timeout_s)
        except TimeoutError as error:
            what = f"a worker had not built its suite within {timeout_s:g} s"
            raise EnvironmentFault(what) from error
        except (EOFError, OSError) as error:
            raise EnvironmentFault("a worker died before it had built its suite") from error
        match answer:
            case CanPlay(reply):
                return _ready(reply)
            case CannotBuild(why):
                raise UsageError(why)
            case _:
                raise unexpected(answer)

    def share(self, memory: int) -> None:
        with contextlib.suppress(OSError):  # dead already: a Play finds out
            socket.send_fds(self._child.socket, [b"\0"], [memory])

    def send(self, play: Play) -> None:
        self._silence.note_call()
        slots = play.slots.tobytes()
        starts = play.starts
        self._child.send(StepAndStart(slots, tuple(starts.items())) if starts else slots)

    def receive(self) -> WorkerFaults:
        """The faults of the oldest Play; the rest is in the shared arrays.

        Raises EOFError or OSError if the worker is gone, EnvironmentLost if its environment is.
        """
        answer = self._child.receive()
        self._silence.note_answer()
        match answer:
            case bytes():
                return WorkerFaults()
            case DoneWithFaults(faults, outside):
                words = {slot: what for slot, what, _ in faults}
                illegal = {slot for slot, _, is_illegal in faults if is_illegal}
                return WorkerFaults(words, illegal, outside)
            case Lost(why):
                raise EnvironmentLost(why)
            case _:
                raise unexpected(answer)

    def ask(self, call: EnvironmentCall) -> EnvironmentReply:
        self._child.send(Routine(encode_environment_call(0, call, None).SerializeToString()))
        answer = self._child.receive(self._answers_within_s)
        if not isinstance(answer, RoutineReply):
            raise unexpected(answer)
        message = pb.EnvironmentReply.FromString(answer.reply)
        return decode_environment_reply(message, call, None)

    def cleanup(self) -> None:
        """Let it close its environments, without waiting for that."""
        self._ask(CleanUp())

    def leave(self) -> None:
        self._child.leave()

    def death(self) -> str:
        """Its exit code or signal."""
        return self._child.death(_DIES_S)

    def end(self, within_s: float) -> None:
        self._child.end(within_s)

    def _ask(self, message: ToWorker) -> None:
        with contextlib.suppress(OSError):  # dead already: `ready` says so
            self._child.send(message)


def _ready(encoded: bytes) -> EnvironmentReady:
    message = pb.EnvironmentReply.FromString(encoded)
    ready = decode_environment_reply(message, EnvironmentInit(0), None)
    assert isinstance(ready, EnvironmentReady), "CanPlay holds nothing else"
    return ready
