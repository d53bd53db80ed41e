"""Listens for a hub whose runs live in processes of their own."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from glue_server.rpc.gateway import Begin, Gateway
from glue_server.rpc.listener import Listener
from glue_server.rpc.roles import SERVICES
from reglue.net.grpc_settings import grpc

if TYPE_CHECKING:
    from glue_server.rpc.tls import ServerTls


class GatewayServer(Listener):
    """Sends peers on to runs; as of a Listener."""

    def __init__(
        self,
        listen: str,
        *,
        tokens: Mapping[str, str] | None = None,
        tls: ServerTls | None = None,
        advertise: str = "",
        begin: Begin,
        most: int,
    ) -> None:
        """`begin` starts a run's process; there are at most `most` at a time."""
        super().__init__(listen, roles=SERVICES, tokens=tokens or {}, tls=tls, advertise=advertise)
        self._front = Gateway(self.tokens, begin=begin, most=most)
        self._serve(
            self._front.join,
            {service.method: _Relay(self._front, service.method) for service in SERVICES.values()},
        )

    def close(self) -> None:
        """End the runs, which let their peers go, then stop."""
        self._front.close()
        super().close()


class _Relay:
    """Carries one role's streams as bytes."""

    def __init__(self, front: Gateway, method: str) -> None:
        self._front = front
        self._method = method

    def check(self, session: str) -> None:
        """Raise Denied for a session of no run."""
        self._front.run_of(session)

    def carry(
        self, session: str, messages: Iterator[bytes], context: grpc.ServicerContext
    ) -> Iterator[bytes]:
        """Through its run. Raises Denied."""
        return self._front.carry(self._method, session, messages, context)
