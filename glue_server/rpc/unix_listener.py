"""Lets peers in who come over a Unix socket: one thread, until they are seated."""

from __future__ import annotations

import contextlib
import logging
import selectors
import socket
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from google.protobuf.message import DecodeError

from glue_server.rpc.admission import Denied, Lobbies
from glue_server.rpc.grpc_streams import HELLO_S
from glue_server.rpc.unix_connection import UnixConnection
from glue_server.rpc.unix_folder import UnixSocketFolder
from reglue.net.grpc_settings import HUB_MESSAGE_BYTES, grpc
from reglue.net.unix_socket import HELLO_BYTES, UnixSocket, UnixSocketEnded
from reglue.v1 import lobby_pb2

log = logging.getLogger("reglue")

_PAUSE_S = 0.01  # before another look at a door that cannot be opened
_MOST = 64  # who have not said hello yet; more are turned away, and use gRPC


@dataclass(frozen=True, slots=True)
class _Visitor:
    """Who has come in and not said a whole hello yet."""

    role: str
    unix_socket: UnixSocket
    until: float  # monotonic seconds

    def fileno(self) -> int:
        return self.unix_socket.fileno()


class UnixListener:
    """Accepts Unix sockets and reads hellos; a line that was seated is read by its driver."""

    def __init__(self, rooms: Lobbies, folder: UnixSocketFolder, kinds: Mapping[str, Any]) -> None:
        """`kinds` are the classes of what peers say, by role."""
        self._rooms = rooms
        self._folder = folder
        self._kinds = kinds
        self._selector = selectors.DefaultSelector()
        self._visitors: set[_Visitor] = set()
        self._bell, self._rope = socket.socketpair()
        self._selector.register(self._bell, selectors.EVENT_READ)
        for role, listener in folder.sockets.items():
            self._selector.register(listener, selectors.EVENT_READ, role)
        self._thread = threading.Thread(target=self._serve, name="reglue-unix-listener")
        self._thread.start()

    def close(self) -> None:
        """Let nobody in any more, and remove the folder."""
        self._rope.close()
        self._thread.join()
        for visitor in list(self._visitors):
            self._dismiss(visitor)
        self._selector.close()
        self._bell.close()
        self._folder.close()

    def _serve(self) -> None:
        while True:
            soonest = min((each.until for each in self._visitors), default=None)
            wait_s = None if soonest is None else max(0.0, soonest - time.monotonic())
            for key, _ in self._selector.select(wait_s):
                if key.fileobj is self._bell:
                    return
                if isinstance(key.fileobj, _Visitor):
                    self._hear(key.fileobj)
                else:
                    self._let_in(key.fileobj, key.data)  # type: ignore[arg-type]
            for visitor in [each for each in self._visitors if each.until <= time.monotonic()]:
                self._dismiss(visitor)

    def _let_in(self, listener: socket.socket, role: str) -> None:
        try:
            connection, _ = listener.accept()
        except OSError:  # who knocked has left, or there is no descriptor to spare
            time.sleep(_PAUSE_S)
            return
        unix_socket = UnixSocket(connection, HELLO_BYTES)
        if len(self._visitors) >= _MOST:
            full = grpc.StatusCode.RESOURCE_EXHAUSTED
            _turn_away(unix_socket, Denied(full, "too many are at the Unix socket"))
            return
        visitor = _Visitor(role, unix_socket, time.monotonic() + HELLO_S)
        self._visitors.add(visitor)
        self._selector.register(visitor, selectors.EVENT_READ)

    def _hear(self, visitor: _Visitor) -> None:
        """Read on; who has said a good hello is seated."""
        try:
            message = visitor.unix_socket.receive(0.0)
        except UnixSocketEnded:
            self._dismiss(visitor)
            return
        if message is None:
            return
        self._forget(visitor)
        try:
            self._seat(visitor, message)
        except Denied as denied:
            _turn_away(visitor.unix_socket, denied)
        except Exception:
            log.exception("a peer could not be seated")
            visitor.unix_socket.close()

    def _seat(self, visitor: _Visitor, message: bytes) -> None:
        kind = self._kinds[visitor.role]
        try:
            first = kind.FromString(message)
        except DecodeError:
            first = kind()
        if not first.HasField("hello"):
            words = "a session begins with a hello"
            raise Denied(grpc.StatusCode.INVALID_ARGUMENT, words)
        visitor.unix_socket.allow(HUB_MESSAGE_BYTES)
        line = UnixConnection(visitor.unix_socket, kind, visitor.role)
        self._rooms.seat(first.hello.session, visitor.role, first.hello, line)
        welcome = lobby_pb2.UnixSocketWelcome(proof=self._rooms.unix_socket_proof(first.hello))
        line.begin(welcome.SerializeToString())

    def _dismiss(self, visitor: _Visitor) -> None:
        self._forget(visitor)
        visitor.unix_socket.close()

    def _forget(self, visitor: _Visitor) -> None:
        self._visitors.discard(visitor)
        self._selector.unregister(visitor)


def _turn_away(unix_socket: UnixSocket, denied: Denied) -> None:
    welcome = lobby_pb2.UnixSocketWelcome(code=denied.code.value[0], why=denied.why)
    with contextlib.suppress(UnixSocketEnded):
        unix_socket.send(welcome.SerializeToString(), 0.0)
    unix_socket.close()
