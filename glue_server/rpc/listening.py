"""Where a server listens, and what peers are told of it."""

from __future__ import annotations

import ipaddress
import socket
from typing import TYPE_CHECKING

from reglue.errors import UsageError
from reglue.net.grpc_settings import grpc
from reglue.net.join_string import JoinString, split_address

if TYPE_CHECKING:
    from glue_server.rpc.tls import ServerTls


def bind(server: grpc.Server, listen: str, tls: ServerTls | None) -> str:
    """`listen` with the port that was bound. Raises UsageError if it cannot be had."""
    host, _ = split_address(listen)
    cause: RuntimeError | None = None
    try:
        port = _add_port(server, listen, tls)
    except RuntimeError as error:
        port, cause = 0, error
    if not port:
        raise UsageError(f"{listen} cannot be listened on: is the port taken?") from cause
    return f"{host}:{port}"


def public_join_string(
    address: str, token: str, tls: ServerTls | None, *, advertise: str = ""
) -> JoinString:
    """For peers anywhere: to `advertise`, or to the `address` that was bound.

    Where that stands for all of this machine's addresses (0.0.0.0), to the machine's name.
    """
    return _invitation(advertise or _named(address, socket.gethostname()), token, tls)


def local_join_string(address: str, token: str, tls: ServerTls | None) -> JoinString:
    """For programs on this machine."""
    return _invitation(_named(address, "127.0.0.1"), token, tls)


def check_advertised(address: str) -> None:
    """Raise UsageError for an address that peers cannot dial."""
    host, port = split_address(address)
    if port == 0 or _is_everywhere(host):
        raise UsageError(f"got {address} to advertise, wanted the host and port that peers dial")


def _add_port(server: grpc.Server, listen: str, tls: ServerTls | None) -> int:
    if tls is None:
        return server.add_insecure_port(listen)
    return server.add_secure_port(listen, grpc.ssl_server_credentials([(tls.key, tls.chain)]))


def _invitation(address: str, token: str, tls: ServerTls | None) -> JoinString:
    if tls is None:
        return JoinString(address, token)
    return JoinString(address, token, tls.authority, tls.name)


def _named(address: str, name: str) -> str:
    host, port = split_address(address)
    return f"{name}:{port}" if _is_everywhere(host) else address


def _is_everywhere(host: str) -> bool:
    """Whether it is 0.0.0.0 or [::]."""
    try:
        return ipaddress.ip_address(host.strip("[]")).is_unspecified
    except ValueError:
        return False
