"""Where checks meet the client under test."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from glue_server.conformance.clients import Clients, Visit
from glue_server.conformance.drivers.agent import AgentDriver
from glue_server.conformance.drivers.driver import Driver
from glue_server.conformance.drivers.environment import EnvironmentDriver
from glue_server.conformance.drivers.experiment import ExperimentDriver
from glue_server.conformance.fault_injection import lead_over
from glue_server.conformance.tcp_proxy import TcpProxy, UnixProxy
from glue_server.rpc import GlueServer
from reglue.net.join_string import JoinString

if TYPE_CHECKING:
    from glue_server.rpc.tls import ServerTls

TALKS: Mapping[str, Callable[..., Driver]] = {
    "agent": AgentDriver,
    "environment": EnvironmentDriver,
    "experiment": ExperimentDriver,
}
"""By role."""


class Harness:
    """One client at a time; it stays for the next check if it is well."""

    def __init__(
        self,
        role: str,
        clients: Clients,
        road: TcpProxy,
        *,
        token: str | None = None,
        timeout_s: float = 30.0,
    ) -> None:
        """Clients dial in at the end of `road`, and play over its Unix socket if it has one. Within
        `timeout_s` seconds each is to join, to answer, to come back and to leave.
        """
        self.role = role
        self.road = road
        self.token = token or secrets.token_hex(24)
        self.timeout_s = timeout_s
        self.sdk = ""  # what the last client called its library
        self._is_aborted = False
        self._clients = clients
        self._servers: list[GlueServer] = []
        self._visit: Visit | None = None
        self._talk: Driver | None = None

    def talk(self) -> Any:
        """With the client that is here, or a new one: a Talk of the role's kind."""
        if self._visit is None or self._visit.is_over or self._talk is None:
            self.fresh()
        return self._talk

    def fresh(
        self, *, reconnect_window_s: float | None = None, tls: ServerTls | None = None
    ) -> Visit:
        """A new client, seated."""
        visit = self.invite(tls=tls)
        self.receive(self.serve(reconnect_window_s=reconnect_window_s, tls=tls))
        return visit

    def visit(self) -> Visit:
        """That of the client that is here, or of a new one."""
        self.talk()
        assert self._visit is not None, "talk() has seen to it"
        return self._visit

    def invite(self, *, tls: ServerTls | None = None) -> Visit:
        """A new client, on its way to a place where nobody listens yet. With `tls` it is told
        by a join string whom to trust.
        """
        self.dismiss()
        self.road.target = ""
        address = self.road.address
        if tls is not None:
            address = str(JoinString(address, self.token, tls.authority, tls.name))
        client = self._clients.start(address, self.token)
        self._visit = Visit(client, role=self.role, timeout_s=self.timeout_s)
        if self._is_aborted:  # now, or while the client was started
            client.close()
        return self._visit

    def serve(
        self, *, reconnect_window_s: float | None = None, tls: ServerTls | None = None
    ) -> GlueServer:
        """A glue at the end of the road."""
        server = GlueServer(
            token=self.token,
            tls=tls,
            places={self.role: 1},
            reconnect_window_s=self.timeout_s if reconnect_window_s is None else reconnect_window_s,
            transport="unix" if isinstance(self.road, UnixProxy) else "grpc",
        )
        self._servers.append(server)
        if isinstance(self.road, UnixProxy):
            lead_over(server, self.road, self.role)
        self.road.target = server.address
        return server

    def receive(self, server: GlueServer) -> None:
        """Seat the client that was invited. Raises NotConforming if it does not come."""
        assert self._visit is not None, "invite() comes first"
        port = self._visit.receive_at(server)
        self.sdk = port.hello.sdk
        if self._talk is None:
            self._talk = TALKS[self.role](port, timeout_s=self.timeout_s)
        self._talk.port = port

    def dismiss(self) -> None:
        """Send the client home, and close every server."""
        if self._visit is not None:
            self._visit.close()
        for server in self._servers:
            server.close()
        self._visit, self._talk, self._servers = None, None, []

    def abort(self) -> None:
        """Let nobody wait any more; called by another thread than the checks'."""
        self._is_aborted = True
        if self._visit is not None:
            self._visit.client.close()

    @property
    def has_lost_client(self) -> bool:
        """Whether a client was here, and has ended."""
        return self._visit is not None and self._visit.client.exit_code() is not None

    def last_words(self) -> str:
        """Of a client that has ended: how, and what it printed."""
        if self._visit is None or not self.has_lost_client:
            return ""
        return self._visit.ending()
