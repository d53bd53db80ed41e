"""Listens for partners: a lobby that checks who comes, and streams for those who stay."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from glue_server.environment_port import EnvironmentPort
from glue_server.port import AgentPort
from glue_server.rpc.line import Seat
from glue_server.rpc.listener import Listener
from glue_server.rpc.lobby import LOBBY, Lobby, LobbyServicer, Places, Terms
from glue_server.rpc.roles import SERVICES, Service
from glue_server.rpc.streams import Streams
from reglue.grpc_settings import HUB_MESSAGE_BYTES
from reglue.v1 import lobby_pb2_grpc

if TYPE_CHECKING:
    from glue_server.rpc.authority import ServerTls


class GlueServer(Listener):
    """Hands out its partners as they join.

    `places` is how many of each role may be here at once. A partner whose stream breaks
    may come back within `grace_s` seconds, which may differ by role. The rest is as of a
    Listener.
    """

    def __init__(
        self,
        listen: str = "127.0.0.1:0",
        *,
        token: str | None = None,
        tls: ServerTls | None = None,
        advertise: str = "",
        places: Mapping[str, int] | None = None,
        grace_s: float | Mapping[str, float] = 0.0,
    ) -> None:
        super().__init__(listen, token=token, tls=tls, advertise=advertise)
        counts = {"agent": 1} if places is None else places
        grace = grace_s if isinstance(grace_s, Mapping) else dict.fromkeys(counts, grace_s)
        self._lobby = Lobby(
            self.token,
            {role: _places(role, count, grace[role]) for role, count in counts.items()},
        )
        join = LobbyServicer(self._lobby.join)
        self._serve(
            {LOBBY: partial(lobby_pb2_grpc.add_LobbyServiceServicer_to_server, join)}
            | {
                SERVICES[role].name: partial(SERVICES[role].register, Streams(self._lobby, role))
                for role in counts
            }
        )

    def next(self, role: str, timeout_s: float) -> Any | None:
        """The next partner of `role` that has joined; None if none has in time."""
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
        """A partner has left for good: another may take its place."""
        self._lobby.release(port)

    def close(self) -> None:
        """Say farewell to whom nobody has, let streams finish their last words, then stop."""
        self._lobby.close()
        super().close()


def _places(role: str, count: int, grace_s: float) -> Places:
    terms = Terms(HUB_MESSAGE_BYTES, grace_s)
    return Places(count, terms, partial(_make_seat, SERVICES[role], terms))


def _make_seat(service: Service, terms: Terms, hello: Any) -> Seat:
    return service.make_seat(hello, terms)
