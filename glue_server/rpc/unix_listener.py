"""Admits peers over Unix sockets, and makes the folder of these sockets."""

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

from glue_server.rpc.admission import Denied, Lobbies
from glue_server.rpc.peer_streams import UnixStream
from glue_server.rpc.services import HELLO_S, hello_in
from reglue.errors import UsageError, setting
from reglue.net.glue_socket import FOLDER_PREFIX, HELLO_BYTES, UNIX_SOCKET_DIR
from reglue.net.grpc_settings import HUB_MESSAGE_BYTES, grpc
from reglue.net.join_string import LONGEST, socket_path
from reglue.net.unix_socket import UnixSocket, UnixSocketEnded
from reglue.v1 import lobby_pb2
from reglue.wire.roles import ROLES

log = logging.getLogger("reglue")

_PAUSE_S = 0.01  # before the next accept, if one failed
_MOST = 64  # connections before their hello; more are turned away, and use gRPC


@dataclass(frozen=True, slots=True)
class _Pending:
    """A connection whose hello has not come whole yet."""

    role: str
    unix_socket: UnixSocket
    until: float  # monotonic seconds

    def fileno(self) -> int:
        return self.unix_socket.fileno()


class UnixListener:
    """Accepts connections and reads their hellos, in one thread. The driver reads the rest."""

    def __init__(self, lobbies: Lobbies, folder: UnixSocketFolder) -> None:
        self._lobbies = lobbies
        self._folder = folder
        self._selector = selectors.DefaultSelector()
        self._pending: set[_Pending] = set()
        self._closed, self._closer = socket.socketpair()
        self._selector.register(self._closed, selectors.EVENT_READ)
        for role, listener in folder.sockets.items():
            self._selector.register(listener, selectors.EVENT_READ, role)
        self._thread = threading.Thread(target=self._serve, name="reglue-unix-listener")
        self._thread.start()

    def close(self) -> None:
        """Admit no more peers, and remove the folder."""
        # The thread first: it alone uses the selector and the pending peers.
        self._closer.close()
        self._thread.join()
        for peer in list(self._pending):
            self._dismiss(peer)
        self._selector.close()
        self._closed.close()
        self._folder.close()

    def _serve(self) -> None:
        while True:
            soonest = min((each.until for each in self._pending), default=None)
            wait_s = None if soonest is None else max(0.0, soonest - time.monotonic())
            for key, _ in self._selector.select(wait_s):
                if key.fileobj is self._closed:
                    return
                if isinstance(key.fileobj, _Pending):
                    self._read_hello(key.fileobj)
                else:
                    self._accept(key.fileobj, key.data)  # type: ignore[arg-type]
            for peer in [each for each in self._pending if each.until <= time.monotonic()]:
                self._dismiss(peer)

    def _accept(self, listener: socket.socket, role: str) -> None:
        try:
            connection, _ = listener.accept()
        except OSError:  # it has left, or there is no descriptor to spare
            time.sleep(_PAUSE_S)
            return
        unix_socket = UnixSocket(connection, HELLO_BYTES)
        if len(self._pending) >= _MOST:
            full = grpc.StatusCode.RESOURCE_EXHAUSTED
            _turn_away(unix_socket, Denied(full, "too many connections at the Unix socket"))
            return
        peer = _Pending(role, unix_socket, time.monotonic() + HELLO_S)
        self._pending.add(peer)
        self._selector.register(peer, selectors.EVENT_READ)

    def _read_hello(self, peer: _Pending) -> None:
        """Read on; a peer whose hello is good is admitted."""
        try:
            message = peer.unix_socket.receive(0.0)
        except UnixSocketEnded:
            self._dismiss(peer)
            return
        if message is None:
            return
        self._forget(peer)
        try:
            self._admit(peer, message)
        except Denied as denied:
            _turn_away(peer.unix_socket, denied)
        except Exception:
            log.exception("a peer could not be admitted")
            peer.unix_socket.close()

    def _admit(self, peer: _Pending, message: bytes) -> None:
        hello = hello_in(ROLES[peer.role], message)
        peer.unix_socket.allow(HUB_MESSAGE_BYTES)
        stream = UnixStream(peer.unix_socket, peer.role)
        self._lobbies.of(hello.session).admit(hello.session, peer.role, hello, stream)

    def _dismiss(self, peer: _Pending) -> None:
        self._forget(peer)
        peer.unix_socket.close()

    def _forget(self, peer: _Pending) -> None:
        self._pending.discard(peer)
        self._selector.unregister(peer)


def _turn_away(unix_socket: UnixSocket, denied: Denied) -> None:
    welcome = lobby_pb2.UnixSocketWelcome(code=denied.code.value[0], why=denied.why)
    with contextlib.suppress(UnixSocketEnded):
        unix_socket.send(welcome.SerializeToString(), 0.0)
    unix_socket.close()


_BACKLOG = 64
_YOUNG_S = 60.0  # a younger folder may be of a glue that is about to listen


class UnixSocketFolder:
    """A socket for each role, in a new folder for this user alone, or for all users."""

    def __init__(self, roles: Iterable[str], *, for_all: bool = False) -> None:
        """`for_all`: other users of this machine may connect. Raises UsageError."""
        roles = tuple(roles)
        self._mode = 0o666 if for_all else 0o600
        self.folder = _new_folder(max(map(len, roles)), 0o711 if for_all else 0o700)
        self.sockets: Mapping[str, socket.socket] = {}
        try:
            self.sockets = {role: _listening(self.path(role), self._mode) for role in roles}
            _sweep(self.folder)
        except BaseException:
            self.close()
            raise

    def path(self, role: str) -> str:
        """The path of the role's socket."""
        return str(self.folder / role)

    def open(self, name: str) -> None:
        """Let the same users connect to a socket that somebody else made in it."""
        Path(self.path(name)).chmod(self._mode)

    def close(self) -> None:
        """Remove the folder."""
        for listener in self.sockets.values():
            listener.close()
        _remove(self.folder)


def _new_folder(name_length: int, mode: int) -> Path:
    """Make a folder in REGLUE_UNIX_SOCKET_DIR, the user's runtime folder or a temporary one.

    Other users cannot enter the runtime folder.
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
    if socket_path(f"unix:{folder}") is None:
        raise UsageError(
            f"{place} has characters that an address of gRPC cannot have: set {UNIX_SOCKET_DIR} "
            "to a folder whose path has letters, digits, and none but -._~/+,@=: else"
        )
    try:
        folder.mkdir(mode=0o700)
        folder.chmod(mode)  # whatever the umask is
    except OSError as error:
        raise UsageError(
            f"no folder for Unix sockets can be made in {place} ({error.strerror}): set "
            f"{UNIX_SOCKET_DIR}, or {setting('transport', 'grpc')}"
        ) from error
    return folder


def _listening(path: str, mode: int) -> socket.socket:
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        listener.bind(path)
        Path(path).chmod(mode)  # before it listens: nobody connects by the umask's rights
        listener.listen(_BACKLOG)
        listener.setblocking(False)
    except OSError as error:
        listener.close()
        raise UsageError(f"{path} cannot be listened on: {error.strerror}") from error
    return listener


def _host_prefix() -> str:
    """The prefix of this host's folders: hosts that share a place do not share sockets."""
    return f"{FOLDER_PREFIX}{zlib.crc32(socket.gethostname().encode()) & 0xFFFF:04x}"


def _sweep(ours: Path) -> None:
    """Remove what killed glues of this user have left beside our folder."""
    now_s = ours.stat().st_mtime  # by the clock that dates the others
    for folder in ours.parent.glob(f"{_host_prefix()}{'[0-9a-f]' * 8}"):
        if _is_left(folder, now_s):
            _remove(folder)


def _is_left(folder: Path, now_s: float) -> bool:
    """Whether it is this user's, not young, and holds only sockets at which nobody listens."""
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
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as client:
        client.setblocking(False)
        try:
            client.connect(str(path))
        except ConnectionRefusedError:
            return True
    return False


def _remove(folder: Path) -> None:
    with contextlib.suppress(OSError):  # it is gone already
        for path in folder.iterdir():
            path.unlink(missing_ok=True)
        folder.rmdir()
