"""The folder of a glue's Unix sockets: short, its own, and gone when the glue closes."""

from __future__ import annotations

import contextlib
import os
import secrets
import socket
import stat
import tempfile
import zlib
from collections.abc import Iterable, Mapping
from pathlib import Path

from reglue.errors import UsageError
from reglue.net.unix_socket import FOLDER_PREFIX, LONGEST, UNIX_SOCKET_DIR

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
