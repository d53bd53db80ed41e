"""Roads to a glue that can be cut, whatever its sessions are carried by."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from glue_server.conformance.fault_injection import route_through
from glue_server.conformance.tcp_proxy import TcpProxy, UnixProxy
from glue_server.rpc import GlueServer
from tests.waiting import until

TRANSPORTS = ("grpc", "unix")


@contextmanager
def proxy_to(server: GlueServer, role: str = "agent") -> Iterator[TcpProxy]:
    """To a glue that has no Unix socket, or beside its Unix socket for that role."""
    if not server._lobby._places[role].terms.unix_socket_path:
        with TcpProxy(server.address) as proxy:
            yield proxy
        return
    with (
        TemporaryDirectory(prefix="reglue-proxy-") as folder,
        UnixProxy(str(Path(folder, role)), server.address) as proxy,
    ):
        route_through(server, proxy, role)
        yield proxy


@contextmanager
def cut_off(proxy: TcpProxy) -> Iterator[None]:
    """A peer that has lost its connection, and has tried some times; it is back after the block."""
    target, proxy.target = proxy.target, ""
    proxy.cut()
    until(lambda: proxy.refused > 3, "the peer has tried some times")
    yield
    proxy.target = target


def redirect(proxy: TcpProxy, server: GlueServer, role: str = "agent") -> None:
    """Let it lead to another glue."""
    if isinstance(proxy, UnixProxy):
        route_through(server, proxy, role)
    proxy.target = server.address
