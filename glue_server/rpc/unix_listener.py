"""Lets peers in who come over a Unix socket, and the folder of these sockets."""

from __future__ import annotations

import contextlib
import logging
import os
import secrets
import selectors
import socket
import stat
import tempfile
import threading
import time
import zlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from google.protobuf.message import DecodeError

from glue_server.rpc.admission import Denied, Lobbies
from glue_server.rpc.connection import UnixConnection
from glue_server.rpc.grpc_streams import HELLO_S
from reglue.errors import UsageError
from reglue.net.grpc_settings import HUB_MESSAGE_BYTES, grpc
from reglue.net.unix_socket import (
    FOLDER_PREFIX,
    HELLO_BYTES,
    LONGEST,
    UNIX_SOCKET_DIR,
    UnixSocket,
    UnixSocketEnded,
)
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


_BACKLOG = 64
_YOUNG_S = 60.0  # a folder as young as that may be of a glue that is about to listen


class UnixSocketFolder:
    """A socket for each role, in a fresh folder that only this user enters, or everybody."""

    def __init__(self, roles: Iterable[str], *, for_all: bool = False) -> None:
        """`for_all` lets other users of this machine in. Raises UsageError."""
        roles = tuple(roles)
        self.folder = _new_folder(max(map(len, roles)), 0o711 if for_all else 0o700)
        self.sockets: Mapping[str, socket.socket] = {}
        try:
            self.sockets = {
                role: _listening(self.path(role), 0o666 if for_all else 0o600) for role in roles
            }
            _sweep(self.folder)
        except BaseException:
            self.close()
            raise

    def path(self, role: str) -> str:
        """Of the socket of that role."""
        return str(self.folder / role)

    def close(self) -> None:
        """Remove the folder."""
        for listener in self.sockets.values():
            listener.close()
        _remove(self.folder)


def _new_folder(name_length: int, mode: int) -> Path:
    """In REGLUE_UNIX_SOCKET_DIR; else in the user's folder for such things, or a temporary one.

    Other users do not enter the user's.
    """
    if asked := os.environ.get(UNIX_SOCKET_DIR):
        return _made(Path(asked).absolute(), name_length, mode)
    own = None if mode & stat.S_IXOTH else os.environ.get("XDG_RUNTIME_DIR")
    places = (own, tempfile.gettempdir(), "/tmp")
    problems = []
    for place in filter(None, places):
        try:
            return _made(Path(place), name_length, mode)
        except UsageError as problem:
            problems.append(str(problem))
    raise UsageError("; ".join(problems))


def _made(place: Path, name_length: int, mode: int) -> Path:
    folder = place / f"{_host_prefix()}{secrets.token_hex(4)}"
    if len(os.fsencode(folder)) + 1 + name_length > LONGEST:
        most = LONGEST - len(os.fsencode(folder)) - 1 - name_length + len(os.fsencode(place))
        raise UsageError(
            f"a socket's path may have {LONGEST} bytes, and {place} is too long for that: "
            f"set {UNIX_SOCKET_DIR} to a folder of at most {most}"
        )
    try:
        folder.mkdir(mode=0o700)
        folder.chmod(mode)  # whatever the umask is
    except OSError as error:
        raise UsageError(
            f"no folder for Unix sockets can be made in {place} ({error.strerror}): set "
            f"{UNIX_SOCKET_DIR}, or --transport grpc"
        ) from error
    return folder


def _listening(path: str, mode: int) -> socket.socket:
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        listener.bind(path)
        Path(path).chmod(mode)
        listener.listen(_BACKLOG)
        listener.setblocking(False)
    except OSError as error:
        listener.close()
        raise UsageError(f"{path} cannot be listened on: {error.strerror}") from error
    return listener


def _host_prefix() -> str:
    """Of the folders of this host: where a place is shared, nobody hears others' sockets."""
    return f"{FOLDER_PREFIX}{zlib.crc32(socket.gethostname().encode()) & 0xFFFF:04x}"


def _sweep(ours: Path) -> None:
    """Remove what glues of this user that were killed have left beside our folder."""
    now_s = ours.stat().st_mtime  # by the clock that dates the others
    for folder in ours.parent.glob(f"{_host_prefix()}{'[0-9a-f]' * 8}"):
        if _is_left(folder, now_s):
            _remove(folder)


def _is_left(folder: Path, now_s: float) -> bool:
    """Whether it is ours, no longer young, and has sockets alone, at which nobody listens."""
    try:
        about = folder.lstat()
        if not stat.S_ISDIR(about.st_mode) or about.st_uid != os.getuid():
            return False
        if now_s - about.st_mtime < _YOUNG_S:
            return False
        sockets = list(folder.iterdir())
        return bool(sockets) and all(map(_is_deaf, sockets))
    except OSError:  # gone, or not for us to see
        return False


def _is_deaf(path: Path) -> bool:
    """Whether it is a socket at which nobody listens. Raises OSError."""
    if not stat.S_ISSOCK(path.lstat().st_mode):
        return False
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as visitor:
        visitor.setblocking(False)
        try:
            visitor.connect(str(path))
        except ConnectionRefusedError:
            return True
    return False


def _remove(folder: Path) -> None:
    with contextlib.suppress(OSError):  # somebody has tidied up
        for path in folder.iterdir():
            path.unlink(missing_ok=True)
        folder.rmdir()
