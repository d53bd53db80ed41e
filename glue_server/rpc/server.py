"""The hub: a lobby that checks who comes, and a stream for the agent that stays."""

from __future__ import annotations

import secrets
import threading
from concurrent.futures import ThreadPoolExecutor
from types import TracebackType
from typing import Self

from grpc_health.v1 import health, health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection

from glue_server.rpc.agents import AgentServicer
from glue_server.rpc.lobby import Lobby, LobbyServicer
from glue_server.rpc.stream_port import StreamPort
from reglue.errors import UsageError
from reglue.grpc_settings import HUB_MESSAGE_BYTES, channel_options, grpc
from reglue.v1 import agent_pb2, agent_pb2_grpc, lobby_pb2, lobby_pb2_grpc

_STREAMS = 64  # and threads: a stream beyond them is refused rather than left waiting

_LAST_PORT = 65535  # grpc would take a larger number modulo 65536


class GlueServer:
    """Listens for one agent; a context manager that stops listening.

    `address` is `host:port` with the port that was bound, `token` what partners
    must show. Raises UsageError if the address cannot be had.
    """

    def __init__(self, listen: str = "127.0.0.1:0", *, token: str | None = None) -> None:
        # Hex: a token that began with a dash would read as an option of `reglue join`.
        self.token = secrets.token_hex(24) if token is None else token
        self._lobby = Lobby(self.token, HUB_MESSAGE_BYTES)
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

    def agent(self, timeout_s: float) -> StreamPort | None:
        """The agent that has joined; None if none came within `timeout_s` seconds."""
        return self._lobby.agent(timeout_s)

    def close(self) -> None:
        """Let streams finish their last words, then stop."""
        self._lobby.close()
        stopped: threading.Event = self._server.stop(grace=2.0)
        stopped.wait()
        self._threads.shutdown()

    def _register(self) -> None:
        lobby_pb2_grpc.add_LobbyServiceServicer_to_server(LobbyServicer(self._lobby), self._server)
        agent_pb2_grpc.add_AgentServiceServicer_to_server(AgentServicer(self._lobby), self._server)
        names = [
            file.services_by_name[service].full_name
            for file, service in (
                (lobby_pb2.DESCRIPTOR, "LobbyService"),
                (agent_pb2.DESCRIPTOR, "AgentService"),
            )
        ]
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
