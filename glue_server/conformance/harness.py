"""Starts the client under test, serves it a glue, and hands checks a driver for it."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Mapping
from typing import Any

from glue_server.conformance.clients import ClientRun, Clients
from glue_server.conformance.drivers.agent_driver import AgentDriver
from glue_server.conformance.drivers.any_program import (
    AnyAgentDriver,
    AnyEnvironmentDriver,
    AnyExperimentDriver,
)
from glue_server.conformance.drivers.driver import Driver
from glue_server.conformance.drivers.environment_driver import EnvironmentDriver
from glue_server.conformance.drivers.experiment_driver import ExperimentDriver
from glue_server.conformance.fault_injection import route_through
from glue_server.conformance.tcp_proxy import TcpProxy, UnixProxy
from glue_server.rpc import GlueServer
from glue_server.rpc.tls.server_certificate import ServerTls
from reglue.net.join_string import JoinString
from reglue.spec import TaskSpec

DRIVERS: Mapping[str, Callable[..., Driver]] = {
    "agent": AgentDriver,
    "environment": EnvironmentDriver,
    "experiment": ExperimentDriver,
}
"""Drivers of the kit's programs, by role."""

DRIVERS_OF_ANY_PROGRAM: Mapping[str, Callable[..., Driver]] = {
    "agent": AnyAgentDriver,
    "environment": AnyEnvironmentDriver,
    "experiment": AnyExperimentDriver,
}
"""Drivers of other programs, by role."""


class Harness:
    """Runs one client at a time, and keeps it for the next check unless it failed."""

    def __init__(
        self,
        role: str,
        clients: Clients,
        proxy: TcpProxy,
        *,
        token: str | None = None,
        timeout_s: float = 30.0,
        join_timeout_s: float = 120.0,
        drivers: Mapping[str, Callable[..., Driver]] = DRIVERS,
    ) -> None:
        """Clients connect to `proxy`, over its Unix socket if it has one.

        An answer, a reconnection and leaving may each take `timeout_s` seconds. Starting and
        joining may take `join_timeout_s`.
        """
        self.role = role
        self.proxy = proxy
        self.token = token or secrets.token_hex(24)
        self.timeout_s = timeout_s
        self._join_timeout_s = join_timeout_s
        self.sdk = ""  # what the last client called its library
        self._is_aborted = False
        self._clients = clients
        self._make_driver = drivers[role]
        self._servers: list[GlueServer] = []
        self._run: ClientRun | None = None
        self._driver: Driver | None = None

    def driver(self) -> Any:
        """The role's driver, of the present client or of a new one."""
        if self._run is None or self._run.is_over or self._driver is None:
            self.new_client()
        return self._driver

    def begin(self, spec: TaskSpec) -> Any:
        """The role's driver, whose client has begun `spec`."""
        driver = self.driver()
        driver.begin(spec)
        return driver

    def new_client(
        self, *, reconnect_window_s: float | None = None, tls: ServerTls | None = None
    ) -> ClientRun:
        """Start a client, and admit it."""
        run = self.start_client(tls=tls)
        self.admit(self.serve(reconnect_window_s=reconnect_window_s, tls=tls))
        return run

    def run(self) -> ClientRun:
        """The present client, or a new one."""
        self.driver()
        assert self._run is not None, "driver() has seen to it"
        return self._run

    def start_client(self, *, tls: ServerTls | None = None) -> ClientRun:
        """Start a client; no glue listens yet.

        With `tls` it gets a join string that holds the authority.
        """
        self.reset()
        self.proxy.target = ""
        address = self.proxy.address
        if tls is not None:
            address = str(JoinString(address, self.token, tls.authority, tls.name))
        client = self._clients.start(address, self.token)
        self._run = ClientRun(
            client,
            role=self.role,
            timeout_s=self.timeout_s,
            join_timeout_s=self._join_timeout_s,
        )
        if self._is_aborted:  # now, or while the client was started
            client.close()
        return self._run

    def serve(
        self,
        *,
        reconnect_window_s: float | None = None,
        tls: ServerTls | None = None,
        is_reachable: bool = True,
    ) -> GlueServer:
        """Start a glue. The proxy leads to it, at once or when the caller sets its target."""
        server = GlueServer(
            token=self.token,
            tls=tls,
            places={self.role: 1},
            reconnect_window_s=self.timeout_s if reconnect_window_s is None else reconnect_window_s,
            transport="unix" if isinstance(self.proxy, UnixProxy) else "grpc",
        )
        self._servers.append(server)
        if isinstance(self.proxy, UnixProxy):
            route_through(server, self.proxy, self.role)
        if is_reachable:
            self.proxy.target = server.address
        return server

    def admit(self, server: GlueServer) -> None:
        """Wait until the started client joins `server`. Raises NotConforming if it does not."""
        assert self._run is not None, "start_client() comes first"
        port = self._run.admit_at(server)
        self.sdk = port.hello.sdk
        if self._driver is None:
            self._driver = self._make_driver(port, timeout_s=self.timeout_s)
        self._driver.port = port

    def deadline(self) -> tuple[float, str]:
        """See `ClientRun.deadline`."""
        assert self._run is not None, "start_client() comes first"
        return self._run.deadline()

    def reset(self) -> None:
        """End the client, and close every server."""
        if self._run is not None:
            self._run.close()
        for server in self._servers:
            server.close()
        self._run, self._driver, self._servers = None, None, []

    def abort(self) -> None:
        """End all waits; called by another thread than the checks'."""
        self._is_aborted = True
        if self._run is not None:
            self._run.client.close()

    @property
    def has_lost_client(self) -> bool:
        """Whether the client has exited."""
        return self._run is not None and self._run.client.exit_code() is not None

    def last_words(self) -> str:
        """The client's exit code and output; empty while it runs."""
        if self._run is None or not self.has_lost_client:
            return ""
        return self._run.ending()
