"""The link to a run's own process: it gives a peer a ticket there, and carries its streams."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Iterator
from typing import Any, Protocol

from glue_server.rpc.admission import Denied
from reglue.net.grpc_settings import HUB_MESSAGE_BYTES, grpc
from reglue.net.join_string import JoinString
from reglue.net.lobby import open_channel
from reglue.v1 import lobby_pb2, lobby_pb2_grpc
from reglue.version import PROTOCOL_MAJOR

log = logging.getLogger("reglue")

JOIN_S = 3.0
"""Seconds that a run may take to answer one Join; then it is asked again."""

_SILENT = (grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.DEADLINE_EXCEEDED)
_FULL_OR_GONE = (grpc.StatusCode.ALREADY_EXISTS, grpc.StatusCode.CANCELLED)


class RunProcess(Protocol):
    """A process that plays one run."""

    join_string: JoinString  # to its server, for us
    public_address: str  # where peers reach it; empty: through us

    def is_alive(self) -> bool:
        """Whether it still runs."""

    def leave(self) -> None:
        """Let its peers go, and leave; `end` comes next."""

    def end(self, within_s: float) -> None:
        """Wait until it has left, and kill it if it has not by then."""


class RunLink:
    """A run's process, and a channel to its server."""

    def __init__(self, process: RunProcess) -> None:
        self.process = process
        self._channel = open_channel(process.join_string, HUB_MESSAGE_BYTES)

    def ask(
        self, role: lobby_pb2.Role, client: str, within_s: float = JOIN_S
    ) -> lobby_pb2.Ticket | None:
        """A ticket of that run; None if it has no place for the role, or has just left.

        Raises TimeoutError if it does not answer, and Denied for anything else that the run says.
        """
        token = self.process.join_string.token
        request = lobby_pb2.JoinRequest(major=PROTOCOL_MAJOR, role=role, token=token, client=client)
        try:
            ticket: lobby_pb2.Ticket = lobby_pb2_grpc.LobbyServiceStub(self._channel).Join(
                request, timeout=within_s
            )
            return ticket
        except ValueError:  # `close` was faster
            return None
        except grpc.RpcError as error:
            if error.code() in _SILENT and self.process.is_alive():
                raise TimeoutError("a run's process does not answer") from error
            if error.code() in (*_SILENT, *_FULL_OR_GONE):
                return None
            log.error("a run's process denied a join: %s", error.details())
            raise Denied(error.code(), error.details() or "") from error

    def open(
        self, method: str, session: str, messages: Iterator[bytes], context: grpc.ServicerContext
    ) -> Any:
        """One stream of a session, which ends with the peer's own; its answers are bytes.

        Raises Denied if this link was closed.
        """
        connect: Any = self._channel.stream_stream(method)
        try:
            stream = connect(_until_broken(messages), metadata=[("reglue-session", session)])
        except ValueError as error:  # `close` was faster
            raise Denied(grpc.StatusCode.UNAVAILABLE, "the run has ended") from error
        context.add_callback(stream.cancel)
        return stream

    def close(self) -> None:
        """End the streams, and the channel."""
        self._channel.close()


def _until_broken(messages: Iterator[bytes]) -> Iterator[bytes]:
    """A peer's messages; grpc would log the end of a broken stream as a failure of ours."""
    with contextlib.suppress(grpc.RpcError):
        yield from messages
