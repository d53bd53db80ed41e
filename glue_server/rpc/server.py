"""Listens: a lobby that checks who comes, and streams for those who stay."""

from __future__ import annotations

import secrets
import threading
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from types import TracebackType
from typing import Any, Self

from grpc_health.v1 import health, health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection

from glue_server.environment_port import EnvironmentPort
from glue_server.port import AgentPort
from glue_server.rpc.line import Seat
from glue_server.rpc.lobby import Lobby, LobbyServicer, Places, Terms
from glue_server.rpc.roles import SERVICES, Service
from glue_server.rpc.streams import Streams
from reglue.errors import UsageError
from reglue.grpc_settings import HUB_MESSAGE_BYTES, channel_options, grpc
from reglue.v1 import lobby_pb2, lobby_pb2_grpc

_STREAMS = 64  # and threads: a stream beyond them is refused rather than left waiting

_LAST_PORT = 65535  # grpc would take a larger number modulo 65536


class GlueServer:
    """Listens for partners; a context manager that stops listening.

    `address` is `host:port` with the port that was bound, `token` what partners must
    show, `places` how many of each role may be here at once. A partner whose stream
    breaks may come back within `grace_s`. Raises UsageError if the address cannot be had.
    """

    def __init__(
        self,
        listen: str = "127.0.0.1:0",
        *,
        token: str | None = None,
        places: Mapping[str, int] | None = None,
        grace_s: float = 0.0,
    ) -> None:
        # Hex: a token that began with a dash would read as an option of `reglue join`.
        self.token = secrets.token_hex(24) if token is None else token
        terms = Terms(HUB_MESSAGE_BYTES, grace_s)
        self._places = {
            role: Places(count, partial(_make_seat, SERVICES[role], terms))
            for role, count in (places or {"agent": 1}).items()
        }
        self._lobby = Lobby(self.token, terms, self._places)
        self._threads = ThreadPoolExecutor(_STREAMS, thread_name_prefix="reglue-stream")
        self._server = grpc.server(
            self._threads,
            options=[*channel_options(HUB_MESSAGE_BYTES), ("grpc.so_reuseport", 0)],
            maximum_concurrent_rpcs=_STREAMS,
        )
        self._register()
        self.address = self._bind(listen)
        self._server.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

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
        """Let streams finish their last words, then stop."""
        self._lobby.close()
        stopped: threading.Event = self._server.stop(grace=2.0)
        stopped.wait()
        self._threads.shutdown()

    def _register(self) -> None:
        lobby_pb2_grpc.add_LobbyServiceServicer_to_server(LobbyServicer(self._lobby), self._server)
        names = [lobby_pb2.DESCRIPTOR.services_by_name["LobbyService"].full_name]
        for role in self._places:
            SERVICES[role].register(Streams(self._lobby, role), self._server)
            names.append(SERVICES[role].name)
        checks = health.HealthServicer()
        for name in ("", *names):
            checks.set(name, health_pb2.HealthCheckResponse.SERVING)
        health_pb2_grpc.add_HealthServicer_to_server(checks, self._server)
        reflection.enable_server_reflection(
            (*names, health.SERVICE_NAME, reflection.SERVICE_NAME), self._server
        )

    def _bind(self, listen: str) -> str:
        host, colon, port = listen.rpartition(":")
        if not colon or not host or not port.isdecimal() or int(port) > _LAST_PORT:
            raise UsageError(f"got address {listen!r}, wanted host:port such as 127.0.0.1:4096")
        try:
            bound = self._server.add_insecure_port(listen)
        except RuntimeError as error:
            bound = 0
            cause: RuntimeError | None = error
        else:
            cause = None
        if not bound:
            self._threads.shutdown()
            raise UsageError(f"{listen} cannot be listened on: is the port taken?") from cause
        return f"{host}:{bound}"


def _make_seat(service: Service, terms: Terms, hello: Any) -> Seat:
    return service.make_seat(hello, terms)
