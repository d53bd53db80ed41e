"""Where Unix sockets are: a folder for each run, in it a socket for each role."""

from __future__ import annotations

import os
import stat
from pathlib import Path

UNIX_SOCKET_DIR = "REGLUE_UNIX_SOCKET_DIR"
"""The folder of folders; a glue's and a peer's may be mounted at different places."""

LONGEST = 107
"""Bytes of a Unix socket's path (sun_path holds 108, with the zero behind it)."""


FOLDER_PREFIX = "reglue-"

_ROLES = ("agent", "environment", "experiment")


def foreign(path: str) -> str | None:
    """Why nothing should be said to what is at `path`; None for what may be a glue's socket.

    A ticket names a path, and must not lead its holder to any other service of this host: the
    file is called by its role in a folder `reglue-…` of the same user's, where nobody else can
    put files. Its owner may be another user, as glues let other users in with
    --open-unix-socket. The welcome shows whether it is the glue that was joined. Raises OSError.
    """
    file = Path(path)
    if file.name not in _ROLES or not file.parent.name.startswith(FOLDER_PREFIX):
        return f"a glue's is called {FOLDER_PREFIX}…/{'|'.join(_ROLES)}"
    about, folder = file.lstat(), file.parent.stat()
    if not stat.S_ISSOCK(about.st_mode):
        return "it is no socket"
    if about.st_uid != folder.st_uid or folder.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        return "others than its owner can put files into its folder"
    return None


def path_here(unix_socket_path: str) -> str:
    """Where this process finds a ticket's `unix_socket_path`.

    REGLUE_UNIX_SOCKET_DIR replaces all but its last two parts.
    """
    here = os.environ.get(UNIX_SOCKET_DIR)
    if not here:
        return unix_socket_path
    socket = Path(unix_socket_path)
    return str(Path(here, socket.parent.name, socket.name))
