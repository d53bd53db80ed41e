"""A grpc server: where it listens, health and reflection, and how it stops."""

from __future__ import annotations

import secrets
import threading
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from types import TracebackType
from typing import TYPE_CHECKING, Self

from grpc_health.v1 import health, health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection

from glue_server.rpc.listening import bind, check_advertised, local_invitation, public_invitation
from reglue.errors import UsageError
from reglue.grpc_settings import HUB_MESSAGE_BYTES, channel_options, grpc

if TYPE_CHECKING:
    from glue_server.rpc.authority import ServerTls

_STREAMS = 64  # and threads: a stream beyond them is refused rather than left waiting


class Listener:
    """Serves until it is closed; a context manager that closes it.

    `address` is `host:port` with the port that was bound, `token` what partners must
    show. With `tls` nobody is let in without TLS. `invitation` is what partners are told,
    `str(listener.invitation)` the join string: its address is `advertise` (`host:port`),
    or the one that was bound, by the machine's name where all its addresses are listened
    at. `local_invitation` is for programs on this machine. Raises UsageError if the
    address cannot be had.
    """

    def __init__(
        self, listen: str, *, token: str | None, tls: ServerTls | None, advertise: str
    ) -> None:
        if advertise:
            check_advertised(advertise)
        # Hex: a token that began with a dash would read as an option of `reglue join`.
        self.token = secrets.token_hex(24) if token is None else token
        self._listen, self._tls, self._advertise = listen, tls, advertise
        self._threads = ThreadPoolExecutor(_STREAMS, thread_name_prefix="reglue-stream")
        self._server = grpc.server(
            self._threads,
            options=[*channel_options(HUB_MESSAGE_BYTES), ("grpc.so_reuseport", 0)],
            maximum_concurrent_rpcs=_STREAMS,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Let streams finish their last words, then stop."""
        stopped: threading.Event = self._server.stop(grace=2.0)
        stopped.wait()
        self._threads.shutdown()

    def _serve(self, services: Mapping[str, Callable[[grpc.Server], None]]) -> None:
        """Register each service, by its full name, and start."""
        for register in services.values():
            register(self._server)
        checks = health.HealthServicer()
        for name in ("", *services):
            checks.set(name, health_pb2.HealthCheckResponse.SERVING)
        health_pb2_grpc.add_HealthServicer_to_server(checks, self._server)
        reflection.enable_server_reflection(
            (*services, health.SERVICE_NAME, reflection.SERVICE_NAME), self._server
        )
        try:
            self.address = bind(self._server, self._listen, self._tls)
        except UsageError:
            self._threads.shutdown()
            raise
        self.invitation = public_invitation(
            self.address, self.token, self._tls, advertise=self._advertise
        )
        self.local_invitation = local_invitation(self.address, self.token, self._tls)
        self._server.start()
