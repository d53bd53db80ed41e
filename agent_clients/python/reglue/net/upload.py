"""Submits an agent: sends its archive to a competition, a part at a time."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from reglue.errors import Refused, Unreachable, UsageError
from reglue.net.grpc_settings import HUB_MESSAGE_BYTES, grpc
from reglue.net.join_string import JoinString
from reglue.net.lobby import REFUSALS, answered, open_channel
from reglue.retrying import Backoff
from reglue.v1 import submission_pb2, submission_pb2_grpc
from reglue.version import PROTOCOL_MAJOR, PROTOCOL_MINOR

_PART = 262_144  # bytes
_LEAST_PART = 8_192
_PART_S = 20.0  # how long the answer to a part may take
_PAUSES = Backoff(0.5)  # after a part that failed
_LOOK_S = 1.0  # between two questions whether the archive was checked


@dataclass(frozen=True, slots=True)
class Submitted:
    """A submission that was entered with an image or a project."""

    id: str
    image: str  # its digest: `sha256:…`, of a project `project:…`
    phase: str


def submit(
    join_string: JoinString,
    archive: Path,
    *,
    name: str,
    connect_timeout_s: float,
    watcher: Callable[[str, int, int], None] = lambda *_: None,
) -> Submitted:
    """Send an archive to the competition of a join string; returns once it is entered as `name`.

    The competition keeps what has arrived: after a break, and in another call, the rest follows.
    It gives up after `connect_timeout_s` seconds in which nothing arrived. `watcher` gets the step
    (`reading`, `sending` or `checking`), the bytes that are done, and those of the archive. Raises
    UsageError for a file that cannot be read, and as `reglue.net.lobby.join`.
    """
    try:
        with archive.open("rb") as file:
            size, sha256 = _digest(file, archive.stat().st_size, watcher)
            about = submission_pb2.ArchivePart(
                major=PROTOCOL_MAJOR,
                minor=PROTOCOL_MINOR,
                token=join_string.token,
                name=name,
                size=size,
                sha256=sha256,
            )
            return _Sending(join_string, file, about, connect_timeout_s, watcher).result()
    except OSError as error:
        raise UsageError(f"{archive} cannot be read: {error.strerror}") from error


class _Sending:
    """The upload of an archive."""

    def __init__(
        self,
        join_string: JoinString,
        file: IO[bytes],
        about: submission_pb2.ArchivePart,
        connect_timeout_s: float,
        watcher: Callable[[str, int, int], None],
    ) -> None:
        self._join_string, self._file, self._about = join_string, file, about
        self._timeout_s, self._watcher = connect_timeout_s, watcher
        self._part = _PART  # bytes; fewer where the connection is slow
        self._tries = _PAUSES.within(connect_timeout_s)  # since something came the last time
        self._most = -1  # bytes that have come

    def result(self) -> Submitted:
        """Raises what `submit` raises, and OSError."""
        while True:
            state = answered(self._join_string, self._ask, connect_timeout_s=self._timeout_s)
            if state.submission:
                return Submitted(state.submission, state.image, state.phase)
            if state.received >= self._about.size:
                self._watcher("checking", self._about.size, self._about.size)
                time.sleep(_LOOK_S)
                continue
            try:
                self._send(state.received)
            except grpc.RpcError as error:
                if error.code() in REFUSALS:
                    raise REFUSALS[error.code()](error.details()) from error
                self._part = max(_LEAST_PART, self._part // 2)
                if (pause_s := self._tries.pause_s()) is None:
                    raise Unreachable(
                        f"nothing came to {self._join_string.address} for {self._timeout_s:g} s: "
                        f"{error.details()}"
                    ) from error
                time.sleep(pause_s)

    def _ask(self, channel: grpc.Channel, timeout_s: float) -> submission_pb2.ArchiveState:
        """The server's state of the archive."""
        try:
            state: submission_pb2.ArchiveState = _stub(channel).Submit(
                self._about, timeout=timeout_s
            )
        except grpc.RpcError as error:
            if error.code() is grpc.StatusCode.UNIMPLEMENTED:
                where = self._join_string.address
                raise Refused(
                    f"who listens at {where} takes no archives: agents connect to it by "
                    "themselves (`reglue join`)"
                ) from error
            raise
        return state

    def _send(self, received: int) -> None:
        """Send the rest. Raises RpcError, OSError, and UsageError for a file that was cut."""
        with open_channel(self._join_string, HUB_MESSAGE_BYTES) as channel:
            send, part = _stub(channel).Submit, submission_pb2.ArchivePart()
            part.CopyFrom(self._about)
            while received < self._about.size:
                if received > self._most:
                    self._most, self._tries = received, _PAUSES.within(self._timeout_s)
                self._watcher("sending", received, self._about.size)
                self._file.seek(received)
                part.offset, part.content = received, self._file.read(self._part)
                if not part.content:
                    raise UsageError("the archive has become shorter while it was sent")
                received = send(part, timeout=_PART_S).received


def _stub(channel: grpc.Channel) -> submission_pb2_grpc.SubmissionServiceStub:
    return submission_pb2_grpc.SubmissionServiceStub(channel)


def _digest(
    file: IO[bytes], size: int, watcher: Callable[[str, int, int], None]
) -> tuple[int, bytes]:
    """The size and the SHA-256 of all of it. Raises OSError."""
    digest, done = hashlib.sha256(), 0
    while chunk := file.read(1 << 20):
        digest.update(chunk)
        done += len(chunk)
        watcher("reading", done, max(size, done))
    return done, digest.digest()
