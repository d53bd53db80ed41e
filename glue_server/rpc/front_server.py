"""Listens for a hub whose runs live in processes of their own."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

from glue_server.rpc.front import Front, RunProcess
from glue_server.rpc.listener import Listener
from glue_server.rpc.lobby import LOBBY, LobbyServicer
from glue_server.rpc.roles import SERVICES
from reglue.grpc_settings import grpc
from reglue.v1 import lobby_pb2_grpc

if TYPE_CHECKING:
    from glue_server.rpc.authority import ServerTls


class FrontServer(Listener):
    """Sends partners on to runs; as of a Listener."""

    def __init__(
        self,
        listen: str,
        *,
        token: str | None = None,
        tls: ServerTls | None = None,
        advertise: str = "",
        begin: Callable[[], RunProcess],
        most: int,
    ) -> None:
        """`begin` starts a run's process; there are at most `most` at a time."""
        super().__init__(listen, token=token, tls=tls, advertise=advertise)
        self._front = Front(self.token, begin=begin, most=most)
        join = LobbyServicer(self._front.join)
        self._serve(
            {LOBBY: partial(lobby_pb2_grpc.add_LobbyServiceServicer_to_server, join)}
            | {service.name: partial(_relay, self._front, service.name) for service in _SERVED}
        )

    def close(self) -> None:
        """End the runs, which let their partners go, then stop."""
        self._front.close()
        super().close()


_SERVED = tuple(SERVICES.values())


def _relay(front: Front, service: str, server: grpc.Server) -> None:
    """Carry the streams of a service as bytes."""
    carry: Any = grpc.stream_stream_rpc_method_handler(partial(front.carry, f"/{service}/Connect"))
    handlers = grpc.method_handlers_generic_handler(service, {"Connect": carry})
    server.add_generic_rpc_handlers((handlers,))
