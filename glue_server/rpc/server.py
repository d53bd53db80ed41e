"""Servers: where they listen, the address that peers get, and who gets in."""

from __future__ import annotations

import ipaddress
import logging
import os
import resource
import secrets
import socket
import threading
from collections.abc import Callable, Container, Iterable, Mapping
from types import MappingProxyType
from typing import Any, Self

from grpc_health.v1 import health_pb2

from glue_server.processes.interrupts import hurried
from glue_server.rpc.admission import JOIN, Denied, Lobbies, Lobby, Places, PrivateLobby, Terms
from glue_server.rpc.handlers import Answer, Caller, Handlers, Sessions
from glue_server.rpc.reflection import reflection_handler
from glue_server.rpc.services import SERVICES, Streams
from glue_server.rpc.tls.server_certificate import ServerTls
from glue_server.rpc.unix_listener import UnixListener, UnixSocketFolder
from reglue.errors import UsageError
from reglue.net.glue_socket import UNIX_SOCKET_DIR
from reglue.net.grpc_settings import HUB_MESSAGE_BYTES, channel_options, grpc
from reglue.net.join_string import LOBBY, JoinString, Transport, split_address, to_pem
from reglue.v1 import lobby_pb2
from reglue.wire.roles import ROLES

log = logging.getLogger("reglue")

_HEALTH = health_pb2.DESCRIPTOR.services_by_name["Health"].full_name

_GRACE_S = 2.0  # how long streams may take to send what is left
_STOP_S = 10.0  # how long grpc may take to stop then
_LEAST_S = 0.2  # for either, when no time is left

_CONNECTIONS = 4096

_OPTIONS = (
    ("grpc.so_reuseport", 0),
    ("grpc.server_handshake_timeout_ms", 5_000),  # else two minutes, for a silent caller
    ("grpc.max_connection_idle_ms", 30_000),  # of a connection without calls
    ("grpc.max_concurrent_streams", 128),  # of one connection
    ("grpc.compression_enabled_algorithms_bitset", 1),  # none: 60 kB would become 60 MB
)


class Listener:
    """Serves until it is closed; a context manager that closes it.

    `address` is `host:port` with the port that was bound. `tokens` are the secrets of the roles;
    those that are not given are made. With `tls` all connections need TLS. Peers dial
    `advertise` (`host:port`) if that is not the address that was bound. Raises UsageError if the
    address cannot be bound.
    """

    most_received_bytes = HUB_MESSAGE_BYTES  # of a message, before anything is known of its sender

    def __init__(
        self,
        listen: str,
        *,
        roles: Iterable[str],
        tokens: Mapping[str, str],
        tls: ServerTls | None,
        advertise: str = "",
    ) -> None:
        if advertise:
            check_advertised(advertise)
        # Hex: a token that began with a dash would read as an option of `reglue join`.
        self.tokens = {role: tokens.get(role) or secrets.token_hex(24) for role in roles}
        self._listen, self._tls, self._advertise = listen, tls, advertise
        self._is_serving = True  # what the health service says

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def join_string(self, role: str) -> JoinString:
        """The join string for peers of that role.

        It has the machine's name if the server listens at all addresses.
        """
        token = self.tokens[role]
        return public_join_string(self.address, token, self._tls, advertise=self._advertise)

    def local_join_string(self, role: str) -> JoinString:
        """The join string for programs on this machine."""
        return local_join_string(self.address, self.tokens[role], self._tls)

    def close(self) -> None:
        """Let streams send what is left, then stop."""
        reconnect_window_s, stop_s = (max(_LEAST_S, hurried(each)) for each in (_GRACE_S, _STOP_S))
        stopped: threading.Event = self._server.stop(grace=reconnect_window_s)
        has_stopped = stopped.wait(reconnect_window_s + stop_s)
        if not has_stopped:  # grpc may wait for ever for a call that it could not end
            log.warning("grpc has not stopped listening within %.1f s; left to itself", stop_s)
        self._handlers.close(wait=has_stopped)

    def _serve(
        self,
        join: Callable[[lobby_pb2.JoinRequest, Caller], lobby_pb2.Ticket],
        streams: Mapping[str, Sessions],
        folder: UnixSocketFolder | None = None,
        *,
        large: Mapping[str, Answer] = MappingProxyType({}),
        reflection: bool = False,
    ) -> None:
        """Start. `streams` has the sessions of each role by their method's full name.

        `join` gets the caller too. `large` are calls that bring more bytes. `reflection` says
        whether to serve gRPC's. With a folder, gRPC answers at a Unix socket in it as well.
        """
        names = {"", *(method.split("/")[1] for method in (JOIN, *streams, *large))}
        unary = {
            JOIN: lambda message, caller: join(lobby_pb2.JoinRequest.FromString(message), caller),
            f"/{_HEALTH}/Check": lambda message, _: self._health(names, message),
        }
        shown = [reflection_handler(sorted({_HEALTH, *names} - {""}))] if reflection else []
        self._handlers = Handlers(unary, streams, large)
        received = dict(channel_options(HUB_MESSAGE_BYTES))
        received["grpc.max_receive_message_length"] = self.most_received_bytes
        self._server = grpc.server(
            self._handlers.threads,
            handlers=[*shown, self._handlers],  # the latter logs what it does not know
            options=[
                *received.items(),
                *_OPTIONS,
                ("grpc.max_allowed_incoming_connections", _connections()),
            ],
        )
        try:
            self.address = bind(self._server, self._listen, self._tls)
            if folder is not None:
                _add_port(self._server, f"unix:{folder.path(LOBBY)}", self._tls)
                folder.open(LOBBY)
        except UsageError:
            self._handlers.close(wait=True)
            raise
        self._server.start()

    def _health(self, names: Container[str], message: bytes) -> health_pb2.HealthCheckResponse:
        """Answer the standard health check. Raises Denied for an unknown service."""
        if health_pb2.HealthCheckRequest.FromString(message).service not in names:
            raise Denied(grpc.StatusCode.NOT_FOUND, "no such service")
        states = health_pb2.HealthCheckResponse
        status = states.SERVING if self._is_serving else states.NOT_SERVING
        return health_pb2.HealthCheckResponse(status=status)


def _connections() -> int:
    """The most connections at once: half of the descriptors are left for this process's files."""
    most, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return _CONNECTIONS if most == resource.RLIM_INFINITY else min(_CONNECTIONS, most // 2)


class GlueServer(Listener):
    """Returns its peers as they join.

    `places` is how many peers of each role may be here at once. `token` is their secret, one for
    each role if there are several. A peer whose stream breaks may come back within
    `reconnect_window_s` seconds, which may differ by role. Peers on this host use a Unix socket,
    unless `transport` is `grpc`; with `unix` there is no other way. `open_unix_socket` lets other
    users of this host use it. `reflection` shows services to tools such as grpcurl. The rest is as
    of a Listener.
    """

    def __init__(  # noqa: PLR0913 - all that a host may set
        self,
        listen: str = "127.0.0.1:0",
        *,
        token: str | Mapping[str, str] | None = None,
        tls: ServerTls | None = None,
        advertise: str = "",
        places: Mapping[str, int] | None = None,
        reconnect_window_s: float | Mapping[str, float] = 0.0,
        transport: Transport = "auto",
        open_unix_socket: bool = False,
        reflection: bool = False,
    ) -> None:
        counts = {"agent": 1} if places is None else places
        tokens = _by_role(token, counts)
        super().__init__(listen, roles=counts, tokens=tokens, tls=tls, advertise=advertise)
        windows = (
            reconnect_window_s
            if isinstance(reconnect_window_s, Mapping)
            else dict.fromkeys(counts, reconnect_window_s)
        )
        folder = _folder(counts, transport, for_all=open_unix_socket)
        self.sockets = folder.folder if folder else None
        self._unix_socket_paths = {role: folder.path(role) if folder else "" for role in counts}
        self._lobby = Lobby(self._places(counts, self.tokens, windows))
        self._lobbies = Lobbies(self._lobby)
        self._unix_listener = UnixListener(self._lobbies, folder) if folder else None
        streams = {
            ROLES[role].method: Streams(self._lobbies, ROLES[role], takes_any=transport != "unix")
            for role in counts
        }
        try:
            self._serve(
                lambda request, _: self._lobbies.join(request),
                streams,
                folder,
                reflection=reflection,
            )
        except UsageError:
            self._close_unix_listener()
            raise

    def private_lobby(
        self,
        role: str,
        *,
        token: str | None = None,
        reconnect_window_s: float = 0.0,
        places: int = 1,
    ) -> PrivateLobby:
        """Make a place for one more peer of `role`, or more of them, with a token of its own.

        None makes the token. One that is given is not in the lobby's `join_string`: its host
        tells peers. Raises UsageError for a token that is in use.
        """
        own = secrets.token_hex(24) if token is None else token
        told = own if token is None else ""
        lobby = PrivateLobby(
            self._places({role: places}, {role: own}, {role: reconnect_window_s}),
            join_string=public_join_string(
                self.address, told, self._tls, advertise=self._advertise
            ),
            local_join_string=local_join_string(self.address, own, self._tls),
            sockets=self.sockets,
        )
        self._lobbies.add(lobby)
        return lobby

    @property
    def token(self) -> str:
        """The token of a server of one role."""
        (token,) = self.tokens.values()
        return token

    def next(self, role: str, timeout_s: float) -> Any | None:
        """The next peer of `role` that has joined; None if none has in time."""
        return self._lobby.next(role, timeout_s)

    def has_next(self, role: str) -> bool:
        """Whether one has joined that `next` has not returned."""
        return self._lobby.has_next(role)

    def release(self, port: object) -> None:
        """Free the place of a peer that has left for good."""
        self._lobby.release(port)

    def close(self) -> None:
        """Say farewell to the peers that are here, let streams send what is left, then stop."""
        self._lobbies.close()  # first: its farewells need the streams
        self._close_unix_listener()
        super().close()

    def _places(
        self,
        counts: Mapping[str, int],
        tokens: Mapping[str, str],
        reconnect_window_s: Mapping[str, float],
    ) -> dict[str, Places]:
        """Places, by role."""
        found = {}
        for role, count in counts.items():
            terms = Terms(
                HUB_MESSAGE_BYTES,
                reconnect_window_s[role],
                unix_socket_path=self._unix_socket_paths[role],
            )
            found[role] = Places(count, tokens[role], terms, SERVICES[role].make_session)
        return found

    def _close_unix_listener(self) -> None:
        if self._unix_listener is not None:
            self._unix_listener.close()
            self._unix_listener = None


def _by_role(token: str | Mapping[str, str] | None, roles: Iterable[str]) -> Mapping[str, str]:
    """Tokens by role. Raises UsageError for one token of several roles."""
    if not isinstance(token, str):
        return token or {}
    try:
        (role,) = roles
    except ValueError:
        names = " and ".join(roles)
        raise UsageError(got=f"one token for {names}", wanted="one for each role") from None
    return {role: token}


def _folder(
    roles: Iterable[str], transport: Transport, *, for_all: bool
) -> UnixSocketFolder | None:
    """The folder of Unix sockets; None without them. Raises UsageError if they are needed."""
    if transport == "grpc":
        return None
    try:
        return UnixSocketFolder(roles, for_all=for_all)
    except (UsageError, AttributeError) as error:  # AttributeError: no Unix sockets here
        if transport == "unix" or UNIX_SOCKET_DIR in os.environ:
            raise
        log.debug("peers on this host use gRPC: %s", error)
        return None


def bind(server: grpc.Server, listen: str, tls: ServerTls | None) -> str:
    """Bind `listen`; returns it with the port. Raises UsageError."""
    host, _ = split_address(listen)
    cause: RuntimeError | None = None
    try:
        port = _add_port(server, listen, tls)
    except RuntimeError as error:
        port, cause = 0, error
    if not port:
        raise UsageError(f"cannot listen on {listen}: is the port taken?") from cause
    return f"{host}:{port}"


def public_join_string(
    address: str, token: str, tls: ServerTls | None, *, advertise: str = ""
) -> JoinString:
    """The join string for peers anywhere: to `advertise`, or to the `address` that was bound.

    If that is 0.0.0.0, to the machine's name.
    """
    return _join_string(advertise or _named(address, socket.gethostname()), token, tls)


def local_join_string(address: str, token: str, tls: ServerTls | None) -> JoinString:
    """The join string for programs on this machine."""
    return _join_string(_named(address, "127.0.0.1"), token, tls)


def check_advertised(address: str) -> None:
    """Raise UsageError for an address that peers cannot dial."""
    host, port = split_address(address)
    if port == 0 or _is_everywhere(host):
        raise UsageError(got=f"{address} to advertise", wanted="the host and port that peers dial")


def _add_port(server: grpc.Server, listen: str, tls: ServerTls | None) -> int:
    if tls is None:
        return server.add_insecure_port(listen)
    trusted = to_pem(tls.authority) if tls.asks else None
    credentials = grpc.ssl_server_credentials([(tls.key, tls.chain)], trusted, tls.asks)
    return server.add_secure_port(listen, credentials)


def _join_string(address: str, token: str, tls: ServerTls | None) -> JoinString:
    if tls is None:
        return JoinString(address, token)
    return JoinString(address, token, tls.authority, tls.name)


def _named(address: str, name: str) -> str:
    host, port = split_address(address)
    return f"{name}:{port}" if _is_everywhere(host) else address


def _is_everywhere(host: str) -> bool:
    """Whether it is 0.0.0.0 or [::]."""
    try:
        return ipaddress.ip_address(host.strip("[]")).is_unspecified
    except ValueError:
        return False
