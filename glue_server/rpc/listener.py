"""A grpc server: where it listens, its health, and how it stops."""

from __future__ import annotations

import logging
import resource
import secrets
import threading
from collections.abc import Callable, Container, Iterable, Mapping
from types import TracebackType
from typing import TYPE_CHECKING, Self

from grpc_health.v1 import health_pb2

from glue_server.processes.interrupts import hurried
from glue_server.rpc.admission import JOIN, Denied
from glue_server.rpc.handlers import Handlers, Sessions
from glue_server.rpc.listening import bind, check_advertised, local_join_string, public_join_string
from reglue.errors import UsageError
from reglue.net.grpc_settings import HUB_MESSAGE_BYTES, channel_options, grpc
from reglue.net.join_string import JoinString
from reglue.v1 import lobby_pb2

if TYPE_CHECKING:
    from glue_server.rpc.tls import ServerTls

log = logging.getLogger("reglue")

_HEALTH = health_pb2.DESCRIPTOR.services_by_name["Health"].full_name

_GRACE_S = 2.0  # how long streams may take to say their last words
_STOP_S = 10.0  # how long grpc may take to stop then
_LEAST_S = 0.2  # for either, when no time is left

_CONNECTIONS = 4096

_OPTIONS = (
    ("grpc.so_reuseport", 0),
    ("grpc.server_handshake_timeout_ms", 5_000),  # else two minutes, for who says nothing
    ("grpc.max_connection_idle_ms", 30_000),  # of a connection without calls
    ("grpc.max_concurrent_streams", 128),  # of one connection
)


class Listener:
    """Serves until it is closed; a context manager that closes it.

    `address` is `host:port` with the port that was bound, `tokens` what peers of each
    role must show; those that are not given are made. With `tls` nobody is let in without
    TLS. `advertise` (`host:port`) is where peers dial, if not at the address that was
    bound. Raises UsageError if the address cannot be had.
    """

    def __init__(
        self,
        listen: str,
        *,
        roles: Iterable[str],
        tokens: Mapping[str, str],
        tls: ServerTls | None,
        advertise: str,
    ) -> None:
        if advertise:
            check_advertised(advertise)
        # Hex: a token that began with a dash would read as an option of `reglue join`.
        self.tokens = {role: tokens.get(role) or secrets.token_hex(24) for role in roles}
        self._listen, self._tls, self._advertise = listen, tls, advertise

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def join_string(self, role: str) -> JoinString:
        """What peers of that role are told; as a string, the join string.

        Where all of the machine's addresses are listened at, it has the machine's name.
        """
        token = self.tokens[role]
        return public_join_string(self.address, token, self._tls, advertise=self._advertise)

    def local_join_string(self, role: str) -> JoinString:
        """What programs on this machine are told."""
        return local_join_string(self.address, self.tokens[role], self._tls)

    def close(self) -> None:
        """Let streams finish their last words, then stop."""
        reconnect_window_s, stop_s = (max(_LEAST_S, hurried(each)) for each in (_GRACE_S, _STOP_S))
        stopped: threading.Event = self._server.stop(grace=reconnect_window_s)
        has_stopped = stopped.wait(reconnect_window_s + stop_s)
        if not has_stopped:  # grpc may wait without end for a call that it could not end itself
            log.warning("grpc has not stopped listening within %.1f s; left to itself", stop_s)
        self._handlers.close(wait=has_stopped)

    def _serve(
        self,
        join: Callable[[lobby_pb2.JoinRequest], lobby_pb2.Ticket],
        streams: Mapping[str, Sessions],
    ) -> None:
        """Start, with each role's streams by their method's full name."""
        names = {"", *(method.split("/")[1] for method in (JOIN, *streams))}
        unary = {
            JOIN: lambda message: join(lobby_pb2.JoinRequest.FromString(message)),
            f"/{_HEALTH}/Check": lambda message: _health(names, message),
        }
        self._handlers = Handlers(unary, streams)
        self._server = grpc.server(
            self._handlers.threads,
            handlers=[self._handlers],
            options=[
                *channel_options(HUB_MESSAGE_BYTES),
                *_OPTIONS,
                ("grpc.max_allowed_incoming_connections", _connections()),
            ],
        )
        try:
            self.address = bind(self._server, self._listen, self._tls)
        except UsageError:
            self._handlers.close(wait=True)
            raise
        self._server.start()


def _connections() -> int:
    """Most at a time: half of the descriptors of this process are left for its own files."""
    most, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return _CONNECTIONS if most == resource.RLIM_INFINITY else min(_CONNECTIONS, most // 2)


def _health(names: Container[str], message: bytes) -> health_pb2.HealthCheckResponse:
    """The standard health check: a service that is here serves. Raises Denied."""
    if health_pb2.HealthCheckRequest.FromString(message).service not in names:
        raise Denied(grpc.StatusCode.NOT_FOUND, "no such service")
    return health_pb2.HealthCheckResponse(status=health_pb2.HealthCheckResponse.SERVING)
