"""One server for several runs: a role's token leads to its own lobby."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from glue_server.rpc.admission import Greeting, Lobby, role_of
from glue_server.rpc.connection import Connection, SessionPort
from reglue.errors import UsageError
from reglue.net.join_string import JoinString
from reglue.v1 import lobby_pb2


class Lobbies:
    """A server's lobbies. The first one answers who belongs to none."""

    def __init__(self, first: Lobby) -> None:
        self._lobbies = [first]

    def add(self, lobby: Lobby) -> None:
        """Let in who shows that lobby's tokens. Raises UsageError if another has one already."""
        if any(lobby.tokens.items() & other.tokens.items() for other in self._lobbies):
            raise UsageError("got one token for two rooms, wanted a token of its own for each")
        self._lobbies = [*self._lobbies, lobby]  # others look through the list meanwhile

    def join(self, request: lobby_pb2.JoinRequest) -> lobby_pb2.Ticket:
        """A ticket of the token's lobby. Raises Denied."""
        found = self._lobbies[0]
        for lobby in self._lobbies:  # to the end: how long it takes tells nothing
            if lobby.is_opened(role_of(request), request.token):
                found = lobby
        return found.join(request)

    def check_ticket(self, session: str, role: str) -> None:
        """As of the session's lobby. Raises Denied."""
        self._of(session).check_ticket(session, role)

    def seat(self, session: str, role: str, hello: Greeting, line: Connection) -> SessionPort:
        """As of the session's lobby. Raises Denied."""
        return self._of(session).seat(session, role, hello, line)

    def unix_socket_proof(self, hello: Greeting) -> bytes:
        """As of the session's lobby."""
        return self._of(hello.session).unix_socket_proof(hello)

    def close(self) -> None:
        """Bid farewell to those whom nobody else has."""
        for lobby in self._lobbies:
            lobby.close("the glue has closed")

    def _of(self, session: str) -> Lobby:
        return next((each for each in self._lobbies if each.knows(session)), self._lobbies[0])


class PrivateLobby:
    """What one run sees of a server that several share: who comes with its token."""

    def __init__(
        self,
        lobby: Lobby,
        *,
        join_string: JoinString,
        local_join_string: JoinString,
        sockets: Path | None,
    ) -> None:
        self.sockets = sockets
        self._invitation, self._local_invitation = join_string, local_join_string
        self._lobby = lobby

    def join_string(self, _: str) -> JoinString:
        """What its peer is told."""
        return self._invitation

    def local_join_string(self, _: str) -> JoinString:
        """What its peer is told if it is a program on this machine."""
        return self._local_invitation

    def next(self, role: str, timeout_s: float) -> Any | None:
        """The next peer of `role` that has joined; None if none has in time."""
        return self._lobby.next(role, timeout_s)

    def release(self, port: object) -> None:
        """A peer has left for good: another may take its place."""
        self._lobby.release(port)

    def close(self) -> None:
        """Let nobody in any more; who has come and was not asked for is told."""
        self._lobby.shut("the run is over")
