"""Joining: channels, a ticket from the lobby, and the explanation if TLS fails."""

from __future__ import annotations

import hashlib
import hmac
import logging
import math
import os
import secrets
import socket
import ssl
import time
from collections.abc import Callable
from contextlib import suppress
from ipaddress import ip_address, ip_network
from typing import Any, TypeVar

from reglue.errors import (
    Busy,
    Refused,
    ReglueError,
    SessionLost,
    Unreachable,
    WrongTls,
    WrongToken,
    WrongVersion,
    setting,
)
from reglue.net.grpc_settings import HUB_MESSAGE_BYTES, channel_options, grpc
from reglue.net.join_string import (
    JoinString,
    own_certificate,
    socket_path,
    split_address,
    to_pem,
)
from reglue.retrying import Backoff
from reglue.v1 import lobby_pb2, lobby_pb2_grpc
from reglue.version import PROTOCOL_MAJOR, PROTOCOL_MINOR, sdk
from reglue.wire.roles import Role

log = logging.getLogger("reglue")

T = TypeVar("T")

REFUSALS: dict[grpc.StatusCode, type[ReglueError]] = {
    grpc.StatusCode.UNAUTHENTICATED: WrongToken,
    grpc.StatusCode.FAILED_PRECONDITION: WrongVersion,
    grpc.StatusCode.ALREADY_EXISTS: Busy,
    grpc.StatusCode.INVALID_ARGUMENT: Refused,
}
"""The errors of a glue that refuses a peer."""


NOTE = "reglue-note-bin"
"""The response header of a stream that holds a line for people, in UTF-8."""


class StreamEnded(Exception):
    """The stream has ended: the reason as text, and gRPC's status if there is one."""

    def __init__(self, why: str, code: grpc.StatusCode | None = None) -> None:
        super().__init__(why)
        self.why, self.code = why, code

    def meaning(self) -> ReglueError:
        """SessionLost, or the error of a glue that refuses the peer."""
        if self.code in REFUSALS:
            return REFUSALS[self.code](self.why)
        return SessionLost(self.why)


_LOOPBACK = ("localhost", "127.0.0.1", "[::1]")

PAUSES = Backoff(0.05, factor=1.6, most_s=5.0)
"""Pauses between attempts to join or to reconnect."""

_QUIET_S = 2.0  # after which the log says that a glue is waited for

_HANDSHAKE_S = 2.0  # how long a handshake may take that is made to learn why another failed


def hello_proof(secret: bytes, session: str, answered: int) -> bytes:
    """HMAC-SHA256 that shows that a stream belongs to a ticket (agent.proto, AgentHello.proof)."""
    text = f"reglue.v1 hello {session} {answered}"
    return hmac.digest(secret, text.encode(), hashlib.sha256)


def hello_fields(ticket: lobby_pb2.Ticket, answered: int) -> dict[str, Any]:
    """Fields of the hellos of all roles; `answered` is the number of the last answered call."""
    return {
        "major": PROTOCOL_MAJOR,
        "minor": PROTOCOL_MINOR,
        "sdk": sdk(),
        "session": ticket.session,
        "proof": hello_proof(ticket.secret, ticket.session, answered),
        "answered": answered,
    }


def unix_socket_proof(secret: bytes, session: str, answered: int) -> bytes:
    """HMAC-SHA256 by which a glue shows that it made the ticket (UnixSocketWelcome.proof)."""
    text = f"reglue.v1 unix_socket {session} {answered}"
    return hmac.digest(secret, text.encode(), hashlib.sha256)


def open_channel(join_string: JoinString, max_message_bytes: int) -> grpc.Channel:
    """A channel to the address of a join string, with TLS if it names an authority."""
    options: list[tuple[str, int | str]] = [*channel_options(max_message_bytes)]
    if _is_near(join_string.address):  # `http_proxy` is not meant for these
        options.append(("grpc.enable_http_proxy", 0))
    if not join_string.authority:
        return grpc.insecure_channel(join_string.address, options)
    if join_string.tls_name:
        options.append(("grpc.ssl_target_name_override", join_string.tls_name))
    # Given explicitly: the environment may name other roots.
    roots, own = to_pem(join_string.authority), own_certificate()
    return grpc.secure_channel(
        join_string.address, grpc.ssl_channel_credentials(roots, own, own), options
    )


def join(
    join_string: JoinString, role: Role, *, name: str, connect_timeout_s: float
) -> lobby_pb2.Ticket:
    """A ticket; waits up to `connect_timeout_s` for a glue that is not up yet.

    Raises Unreachable, WrongToken, WrongVersion, WrongTls, Busy, Refused.
    """
    request = lobby_pb2.JoinRequest(
        major=PROTOCOL_MAJOR,
        minor=PROTOCOL_MINOR,
        role=role.number,
        token=join_string.token,
        name=name[:200],
        client=secrets.token_hex(16),  # the same in every try
    )

    def ask(channel: grpc.Channel, timeout_s: float) -> lobby_pb2.Ticket:
        stub = lobby_pb2_grpc.LobbyServiceStub(channel)
        found: lobby_pb2.Ticket = stub.Join(request, timeout=timeout_s)
        return found

    ticket = answered(join_string, ask, connect_timeout_s=connect_timeout_s)
    log.info("joined the glue at %s", join_string.address)
    return ticket


def answered(
    join_string: JoinString, ask: Callable[[grpc.Channel, float], T], *, connect_timeout_s: float
) -> T:
    """A glue's answer; waits up to `connect_timeout_s` for a glue that is not up yet.

    `ask` makes a call, which may be repeated, on a channel and within so many seconds. Raises as
    `join`.
    """
    tries = PAUSES.within(connect_timeout_s)
    say_at = time.monotonic() + _QUIET_S
    while True:
        # A channel for each try: one that failed waits for too long.
        with open_channel(join_string, HUB_MESSAGE_BYTES) as channel:
            left_s = max(tries.left_s, 0.1)
            try:
                return ask(channel, min(left_s, 5.0))
            except grpc.RpcError as error:
                if error.code() in REFUSALS:
                    raise REFUSALS[error.code()](error.details()) from error
                if error.code() is grpc.StatusCode.UNAVAILABLE:
                    trouble = tls_trouble(join_string, min(left_s, _HANDSHAKE_S))
                    if trouble is not None:  # waiting does not help
                        raise trouble from error
                if (pause_s := tries.pause_s()) is None:
                    raise _unreachable(error, join_string, connect_timeout_s) from error
        if time.monotonic() >= say_at:
            say_at = math.inf
            log.warning(
                "waiting for a glue at %s, up to %g s%s",
                *(join_string.address, connect_timeout_s, _by_proxy(join_string.address)),
            )
        time.sleep(pause_s)


def _unreachable(
    error: grpc.RpcError, join_string: JoinString, connect_timeout_s: float
) -> ReglueError:
    if error.code() is grpc.StatusCode.RESOURCE_EXHAUSTED:
        return Busy(
            f"the glue at {join_string.address} took nobody within {connect_timeout_s:g} s: "
            f"{error.details()}"
        )
    return Unreachable(
        f"no glue answered at {join_string.address} within {connect_timeout_s:g} s; is it running, "
        f"and is the address right? {setting('connect_timeout_s')} sets how long to wait"
        f"{_by_proxy(join_string.address)}"
    )


def _is_near(address: str) -> bool:
    """Whether it is of this host."""
    return socket_path(address) is not None or address.rpartition(":")[0] in _LOOPBACK


def _by_proxy(address: str) -> str:
    """A hint if gRPC dials an address through a proxy that the environment names; else ""."""
    host = address.rpartition(":")[0]
    names = [name for name in _PROXIES if os.environ.get(name)]
    exceptions = next(filter(None, map(os.environ.get, _NO_PROXIES)), "")
    is_excepted = any(_includes(each.strip(), host.strip("[]")) for each in exceptions.split(","))
    if _is_near(address) or not names or is_excepted:
        return ""
    return f"; {names[0]} is set and no_proxy lacks {host}, so a proxy was asked for it"


def _includes(exception: str, host: str) -> bool:
    """Whether an entry of `no_proxy` is of that host: the end of its name, or a CIDR block."""
    if exception and host.lower().endswith(exception.lower()):
        return True
    if exception.partition("/")[2].isdecimal():  # ip_network takes other masks as well
        with suppress(ValueError):
            return ip_address(host) in ip_network(exception, strict=False)
    return False


# As gRPC looks for them, and reads them.
_PROXIES = ("grpc_proxy", "https_proxy", "http_proxy")
_NO_PROXIES = ("no_grpc_proxy", "no_proxy")

# Of OpenSSL's x509_vfy.h; Python gives the numbers and not the names.
_NOT_YET_VALID, _EXPIRED = 9, 10
_OTHER_NAME = (62, 64)  # of a host, of an IP address
_OTHER_AUTHORITY = (
    2,  # the issuer is not there
    7,  # the signature is not the issuer's
    18,  # self-signed
    19,  # self-signed, behind others
    20,  # the issuer is not there, locally
    21,  # the first certificate cannot be verified
)


def tls_trouble(join_string: JoinString, timeout_s: float) -> WrongTls | None:
    """Make a TLS handshake with a glue, and return the reason why it fails, if it does.

    None if it succeeds, and if the glue does not answer within `timeout_s` seconds.
    """
    try:
        # A glue that asks for a certificate closes the connection, and sends no alert. One that
        # stops just now does not do so twice.
        if all(_shut_after_handshake(join_string, timeout_s) for _ in "12"):
            return _of_ours(join_string)
    except ssl.SSLError as error:
        return _told(error, join_string)
    except (OSError, ValueError):  # ValueError: a name that cannot be one
        return None
    if join_string.authority:
        return None
    return WrongTls(
        f"the glue at {join_string.address} speaks TLS: give its whole join string, or the "
        f"certificate of its authority ({setting('ca', 'FILE')})"
    )


def _shut_after_handshake(join_string: JoinString, timeout_s: float) -> bool:
    """Whether the glue ends the connection and sends nothing. Raises OSError, ValueError."""
    with _connected(join_string.address, timeout_s) as connection:
        family, address = connection.family, connection.getpeername()
    # Wrapped before it is connected: Python leaves a connection open that is reset before it is
    # wrapped (`SSLSocket._create`).
    context = _context(join_string.authority)
    name = _wanted_name(join_string)
    with context.wrap_socket(socket.socket(family), server_hostname=name) as connection:
        connection.settimeout(timeout_s)
        connection.connect(address)
        return bool(join_string.authority) and not connection.recv(1)


def _connected(address: str, timeout_s: float) -> socket.socket:
    """Raises OSError."""
    if (path := socket_path(address)) is None:
        host, port = split_address(address)
        return socket.create_connection((host.strip("[]"), port), timeout=timeout_s)
    connection = socket.socket(socket.AF_UNIX)
    connection.settimeout(timeout_s)
    try:
        connection.connect(path)
    except OSError:
        connection.close()
        raise
    return connection


def _wanted_name(join_string: JoinString) -> str:
    """The name that the glue's certificate is to have; a Unix socket's is gRPC's own choice."""
    if join_string.tls_name:
        return join_string.tls_name
    is_socket = socket_path(join_string.address) is not None
    return "localhost" if is_socket else split_address(join_string.address)[0].strip("[]")


def _of_ours(join_string: JoinString) -> WrongTls:
    """The error for a certificate that we lack, or that is refused."""
    where = f"the glue at {join_string.address}"
    if own_certificate() is None:
        return WrongTls(
            f"{where} asks for a certificate of yours: set REGLUE_CERT to the file that the host "
            "gave you"
        )
    return WrongTls(
        f"{where} does not accept the certificate in {os.environ['REGLUE_CERT']} (REGLUE_CERT): "
        "ask the host for a new one"
    )


def _context(authority: bytes) -> ssl.SSLContext:
    """A context like gRPC's; without an authority to trust, no certificate is checked."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.set_alpn_protocols(["h2"])
    if authority:
        context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
        context.load_verify_locations(cadata=authority)
        if own_certificate() is not None:
            context.load_cert_chain(os.environ["REGLUE_CERT"])
    else:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    return context


def _told(error: ssl.SSLError, join_string: JoinString) -> WrongTls | None:
    """The error for a handshake that failed."""
    where = join_string.address
    if isinstance(error, ssl.SSLCertVerificationError):
        return WrongTls(_of_certificate(error, join_string))
    if isinstance(error, (ssl.SSLEOFError, ssl.SSLZeroReturnError, ssl.SSLSyscallError)):
        return None  # cut off: the glue may come back
    reason = error.reason or str(error)
    if "ALERT" in reason:  # what the other end says
        return WrongTls(f"the glue at {where} refused the TLS handshake: {reason}")
    if not join_string.authority:
        return None
    return WrongTls(
        f"what answers at {where} does not speak TLS, although the join string asks for "
        "TLS: ask the host for its present join string; nothing was sent without TLS"
    )


def _of_certificate(error: ssl.SSLCertVerificationError, join_string: JoinString) -> str:
    whose = f"the certificate of the glue at {join_string.address}"
    match error.verify_code:
        case code if code in _OTHER_AUTHORITY:
            return (
                f"{whose} is not signed by the authority that you trust: ask the host for its "
                f"present join string (or {setting('ca', 'FILE')}), or somebody else answers there"
            )
        case code if code in _OTHER_NAME:
            name = _wanted_name(join_string)
            return (
                f"{whose} is not made out to {name!r}: give the name that it is made out to "
                f"({setting('tls_name', 'NAME')}), or use the host's join string"
            )
        case code if code in (_EXPIRED, _NOT_YET_VALID):
            when = "has expired" if code == _EXPIRED else "is not valid yet"
            return f"{whose} {when}: the host must renew it, or a clock is wrong"
        case _:
            return f"{whose} cannot be trusted: {error.verify_message}"
