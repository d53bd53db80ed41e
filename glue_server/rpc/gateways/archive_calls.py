"""The call by which teams hand in archives of agents, a part at a time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from glue_server.rpc.admission import Denied, check_version
from glue_server.rpc.gateways.entries import CODES, EntryRefused
from glue_server.rpc.gateways.join_limits import JoinLimits, plain_address
from glue_server.rpc.handlers import Caller, Noise
from reglue.net.grpc_settings import grpc
from reglue.v1 import submission_pb2

SUBMIT = f"/{submission_pb2.DESCRIPTOR.services_by_name['SubmissionService'].full_name}/Submit"

_DIGEST_BYTES = 32


@dataclass(frozen=True, slots=True)
class ArchivePart:
    """A part of an archive, or, without `content`, the question how far it is."""

    token: str
    name: str  # the submission's
    size: int  # of the whole archive, bytes
    sha256: bytes  # of the whole archive
    offset: int  # of `content` in it, bytes
    content: bytes


@dataclass(frozen=True, slots=True)
class ArchiveState:
    """The progress of an archive."""

    received: int  # bytes
    submission: str = ""  # once it was checked and entered
    image: str = ""
    phase: str = ""


class Archives(Protocol):
    """Takes archives of agents; called by the gateway's threads, several at a time."""

    def take(self, part: ArchivePart, caller: Caller) -> ArchiveState:
        """Keep a part, and say how far the archive is. Raises EntryRefused."""


class ArchiveCalls:
    """Answers the calls; without `archives` it refuses them all."""

    def __init__(self, archives: Archives | None, limits: JoinLimits, noise: Noise) -> None:
        self._archives, self._limits, self._noise = archives, limits, noise

    def __call__(self, message: bytes, caller: Caller) -> submission_pb2.ArchiveState:
        """Raises Denied, and DecodeError."""
        request = submission_pb2.ArchivePart.FromString(message)
        address, team = plain_address(caller.address), ""
        try:
            check_version(request.major)
            if self._archives is None:
                words = "agents connect to this glue by themselves: it takes no archives"
                raise Denied(grpc.StatusCode.UNIMPLEMENTED, words)
            if len(request.sha256) != _DIGEST_BYTES:
                words = f"sha256: got {len(request.sha256)} bytes, wanted {_DIGEST_BYTES}"
                raise Denied(grpc.StatusCode.INVALID_ARGUMENT, words)
            if not request.content:  # other parts are those of an archive that began so
                self._limits.check(address, request.token)
            try:
                state = self._archives.take(_part(request), caller)
            except EntryRefused as refused:
                team = refused.team
                raise Denied(CODES[refused.kind], refused.why) from refused
        except Denied as denied:
            self._noise.log(
                f"an archive was refused: {denied.why} (address={address})",
                cause=f"archive {denied.code.name} {team}",
                team=team,
            )
            raise
        self._limits.note_good(request.token)
        return submission_pb2.ArchiveState(
            received=state.received,
            submission=state.submission,
            image=state.image,
            phase=state.phase,
        )


def _part(request: submission_pb2.ArchivePart) -> ArchivePart:
    return ArchivePart(
        token=request.token,
        name=request.name,
        size=request.size,
        sha256=request.sha256,
        offset=request.offset,
        content=request.content,
    )
