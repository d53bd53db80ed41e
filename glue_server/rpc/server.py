"""Listens for peers: a lobby that checks who comes, and streams for those who stay."""

from __future__ import annotations

import logging
import os
import secrets
from collections.abc import Iterable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from glue_server.agent.port import AgentPort
from glue_server.environment.port import EnvironmentPort
from glue_server.rpc.admission import Lobbies, Lobby, Places, PrivateLobby, Terms
from glue_server.rpc.connection import SessionPort
from glue_server.rpc.grpc_streams import Streams
from glue_server.rpc.listener import Listener
from glue_server.rpc.listening import local_join_string, public_join_string
from glue_server.rpc.roles import SERVICES, Service
from glue_server.rpc.unix_folder import UnixSocketFolder
from glue_server.rpc.unix_listener import UnixListener
from reglue.errors import UsageError
from reglue.net.grpc_settings import HUB_MESSAGE_BYTES
from reglue.net.transport import Transport
from reglue.net.unix_socket import UNIX_SOCKET_DIR

if TYPE_CHECKING:
    from glue_server.rpc.tls import ServerTls

log = logging.getLogger("reglue")


class GlueServer(Listener):
    """Hands out its peers as they join.

    `places` is how many of each role may be here at once. `token` is what its peers must
    show, one for each role if there are several. A peer whose stream breaks
    may come back within `grace_s` seconds, which may differ by role. Peers on this host
    come over a Unix socket, unless `transport` is `grpc`; if it is `unix`, nobody comes
    otherwise. `open_unix_socket` lets other users of this host use it. The rest is as of a
    Listener.
    """

    def __init__(  # noqa: PLR0913 - all that a host may say of who comes in
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
        self._rooms = Lobbies(self._lobby)
        kinds = {role: SERVICES[role].heard for role in counts}
        self._unix_listener = UnixListener(self._rooms, folder, kinds) if folder else None
        streams = {
            SERVICES[role].method: Streams(self._rooms, role, takes_any=transport != "unix")
            for role in counts
        }
        try:
            self._serve(self._rooms.join, streams)
        except UsageError:
            self._close_unix_listener()
            raise

    def room(
        self, role: str, *, token: str | None = None, reconnect_window_s: float = 0.0
    ) -> PrivateLobby:
        """A place for one more peer of `role`, which a token of its own leads to.

        None makes the token; one that is given is its host's to hand out, and not told by
        `Room.invitation`. Raises UsageError for one that leads elsewhere already.
        """
        own = secrets.token_hex(24) if token is None else token
        told = own if token is None else ""
        lobby = Lobby(self._places({role: 1}, {role: own}, {role: reconnect_window_s}))
        self._rooms.add(lobby)
        return PrivateLobby(
            lobby,
            join_string=public_join_string(
                self.address, told, self._tls, advertise=self._advertise
            ),
            local_join_string=local_join_string(self.address, own, self._tls),
            sockets=self.sockets,
        )

    @property
    def token(self) -> str:
        """Of a server of one role."""
        (token,) = self.tokens.values()
        return token

    def next(self, role: str, timeout_s: float) -> Any | None:
        """The next peer of `role` that has joined; None if none has in time."""
        return self._lobby.next(role, timeout_s)

    def agent(self, timeout_s: float) -> AgentPort | None:
        """The next agent that has joined; None if none came within `timeout_s` seconds."""
        port: AgentPort | None = self._lobby.next("agent", timeout_s)
        return port

    def environment(self, timeout_s: float) -> EnvironmentPort | None:
        """The next environment that has joined; None if none came within `timeout_s` seconds."""
        port: EnvironmentPort | None = self._lobby.next("environment", timeout_s)
        return port

    def release(self, port: object) -> None:
        """A peer has left for good: another may take its place."""
        self._lobby.release(port)

    def close(self) -> None:
        """Say farewell to whom nobody has, let streams finish their last words, then stop."""
        self._rooms.close()
        self._close_unix_listener()
        super().close()

    def _places(
        self,
        counts: Mapping[str, int],
        tokens: Mapping[str, str],
        reconnect_window_s: Mapping[str, float],
    ) -> dict[str, Places]:
        """New places, by role."""
        found = {}
        for role, count in counts.items():
            terms = Terms(
                HUB_MESSAGE_BYTES,
                reconnect_window_s[role],
                unix_socket_path=self._unix_socket_paths[role],
            )
            found[role] = Places(
                count, tokens[role], terms, partial(_make_seat, SERVICES[role], terms)
            )
        return found

    def _close_unix_listener(self) -> None:
        if self._unix_listener is not None:
            self._unix_listener.close()
            self._unix_listener = None


def _by_role(token: str | Mapping[str, str] | None, roles: Iterable[str]) -> Mapping[str, str]:
    """Tokens by role. Raises UsageError where one token would open several roles."""
    if not isinstance(token, str):
        return token or {}
    try:
        (role,) = roles
    except ValueError:
        names = " and ".join(roles)
        raise UsageError(f"got one token for {names}, wanted one for each role") from None
    return {role: token}


def _folder(
    roles: Iterable[str], transport: Transport, *, for_all: bool
) -> UnixSocketFolder | None:
    """None where there are to be no Unix sockets. Raises UsageError where there can be none."""
    if transport == "grpc":
        return None
    try:
        return UnixSocketFolder(roles, for_all=for_all)
    except (UsageError, AttributeError) as error:  # AttributeError: no Unix sockets here
        if transport == "unix" or UNIX_SOCKET_DIR in os.environ:
            raise
        log.debug("peers on this host use gRPC: %s", error)
        return None


def _make_seat(service: Service, terms: Terms, hello: Any) -> SessionPort:
    return service.make_seat(hello, terms)
