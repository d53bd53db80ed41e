"""Roads to a glue that can be cut, whatever its sessions are carried by."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from glue_server.conformance.fault_injection import lead_over
from glue_server.conformance.tcp_proxy import TcpProxy, UnixProxy
from glue_server.rpc import GlueServer

TRANSPORTS = ("grpc", "unix")


@contextmanager
def road_to(server: GlueServer, role: str = "agent") -> Iterator[TcpProxy]:
    """To a glue that has no Unix socket, or beside its Unix socket for that role."""
    if not server._lobby._places[role].terms.unix_socket_path:
        with TcpProxy(server.address) as road:
            yield road
        return
    with (
        TemporaryDirectory(prefix="reglue-road-") as folder,
        UnixProxy(str(Path(folder, role)), server.address) as road,
    ):
        lead_over(server, road, role)
        yield road


def redirect(road: TcpProxy, server: GlueServer, role: str = "agent") -> None:
    """Let it lead to another glue."""
    if isinstance(road, UnixProxy):
        lead_over(server, road, role)
    road.target = server.address
