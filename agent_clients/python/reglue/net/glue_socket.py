"""Opens the Unix socket that a ticket names, if it is a glue's."""

from __future__ import annotations

import hmac
import os
import socket
import stat
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from google.protobuf.message import DecodeError

from reglue.net.grpc_settings import grpc
from reglue.net.lobby import StreamEnded, unix_socket_proof
from reglue.net.unix_socket import UnixSocket, UnixSocketEnded, UnixStream
from reglue.v1 import lobby_pb2
from reglue.wire.roles import ROLES

UNIX_SOCKET_DIR = "REGLUE_UNIX_SOCKET_DIR"
"""The folder of the glues' folders. A glue and a peer may have it mounted at different places."""

FOLDER_PREFIX = "reglue-"

HELLO_BYTES = 8192
"""Size of the largest hello: no more is read before its proof has been checked."""

_WELCOME_S = 10.0  # how long a glue may take to answer a hello

_CODES = {code.value[0]: code for code in grpc.StatusCode}


class NoUnixSocket(Exception):
    """The glue cannot be reached over a Unix socket: why, and whether that will stay so."""

    def __init__(self, why: str, *, is_lasting: bool = False) -> None:
        super().__init__(why)
        self.is_lasting = is_lasting


_NOT_OURS: Mapping[type[OSError], str] = {
    FileNotFoundError: "no such file; the glue is on another host, or in a container: mount its "
    "folder of sockets here, and name that by REGLUE_UNIX_SOCKET_DIR",
    PermissionError: "it is another user's, who may let you in (open unix socket)",
}
"""Reasons why this process cannot use a new ticket's socket."""


def open_unix_socket(ticket: lobby_pb2.Ticket, hello: Any, most: int) -> UnixStream:
    """Open the ticket's socket. Raises NoUnixSocket, and StreamEnded if the glue refuses us."""
    if not ticket.unix_socket_path:
        raise NoUnixSocket("the glue offers no Unix socket", is_lasting=True)
    if not hasattr(socket, "AF_UNIX"):
        raise NoUnixSocket("this platform has no Unix sockets", is_lasting=True)
    path = path_here(ticket.unix_socket_path)
    _check_unix_socket(path)
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        connection.settimeout(_WELCOME_S)
        connection.connect(path)
    except OSError as error:
        connection.close()
        raise _cannot_open(path, error) from error
    unix_socket = UnixSocket(connection, HELLO_BYTES)
    try:
        _say_hello(unix_socket, ticket, hello)
    except BaseException:
        unix_socket.close()
        raise
    unix_socket.allow(most)
    return UnixStream(unix_socket)


def _check_unix_socket(path: str) -> None:
    """Raise NoUnixSocket for a socket that is no glue's, before anything is sent to it."""
    try:
        why = _foreign(path)
    except OSError as error:
        raise _cannot_open(path, error) from error
    if why is not None:
        raise NoUnixSocket(f"{path} is no socket of a glue's: {why}", is_lasting=True)


def _foreign(path: str) -> str | None:
    """The reason to send nothing to the file at `path`; None if it may be a glue's socket.

    A ticket names a path, and must not lead its holder to another service of this host. So the
    file's name is a role, in a folder `reglue-…` of the same user where others cannot
    put files. Its owner may be another user, as with --open-unix-socket. The welcome
    shows whether it is of the glue that was joined. Raises OSError.
    """
    file = Path(path)
    if file.name not in ROLES or not file.parent.name.startswith(FOLDER_PREFIX):
        return f"a glue's is called {FOLDER_PREFIX}…/{'|'.join(ROLES)}"
    about, folder = file.lstat(), file.parent.stat()
    if not stat.S_ISSOCK(about.st_mode):
        return "it is no socket"
    if about.st_uid != folder.st_uid or folder.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        return "others than its owner can put files into its folder"
    return None


def path_here(unix_socket_path: str) -> str:
    """The path in this process of a ticket's `unix_socket_path`.

    REGLUE_UNIX_SOCKET_DIR replaces all but its last two parts.
    """
    here = os.environ.get(UNIX_SOCKET_DIR)
    if not here:
        return unix_socket_path
    path = Path(unix_socket_path)
    return str(Path(here, path.parent.name, path.name))


def _cannot_open(path: str, error: OSError) -> NoUnixSocket:
    why = _NOT_OURS.get(type(error))
    return NoUnixSocket(f"{path} cannot be opened: {why or error}", is_lasting=why is not None)


def _say_hello(unix_socket: UnixSocket, ticket: lobby_pb2.Ticket, hello: Any) -> None:
    """Say hello, and check that the ticket's glue answers."""
    try:
        unix_socket.send(hello.SerializeToString(), _WELCOME_S)
        answer = unix_socket.receive(_WELCOME_S)
        welcome = lobby_pb2.UnixSocketWelcome.FromString(answer or b"")
    except UnixSocketEnded as error:
        raise StreamEnded(f"the glue went away: {error}") from error
    except DecodeError as error:
        raise NoUnixSocket(f"no welcome at the Unix socket: {error}") from error
    code = _CODES.get(welcome.code, grpc.StatusCode.UNKNOWN)
    if code is grpc.StatusCode.RESOURCE_EXHAUSTED:
        raise NoUnixSocket(welcome.why)
    if code is not grpc.StatusCode.OK:
        raise StreamEnded(welcome.why, code)
    proof = unix_socket_proof(ticket.secret, ticket.session, hello.hello.answered)
    if not hmac.compare_digest(welcome.proof, proof):
        raise NoUnixSocket("the Unix socket is not of the glue that we joined")
