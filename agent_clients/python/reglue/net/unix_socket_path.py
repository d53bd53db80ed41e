"""Where lanes are: a folder for each run, in it a socket for each role."""

from __future__ import annotations

import os
import stat
from pathlib import Path

LANE_DIR = "REGLUE_LANE_DIR"
"""The folder of folders; a glue's and a peer's may be mounted at different places."""

LONGEST = 107
"""Bytes of a Unix socket's path (sun_path holds 108, with the zero behind it)."""


FOLDER_PREFIX = "reglue-"

_ROLES = ("agent", "environment", "experiment")


def foreign(path: str) -> str | None:
    """Why nothing should be said to what is at `path`; None for what may be a glue's socket.

    A ticket names a path, and must not lead its holder to any other service of this host: the
    file is called by its role in a folder `reglue-…` of the same user's, where nobody else can
    put files. Whose socket it is, is not asked: glues let other users in with --open-lane. That
    it is the glue that was joined, its welcome shows. Raises OSError.
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


def path_here(lane_path: str) -> str:
    """Where this process finds a ticket's `lane_path`: REGLUE_LANE_DIR is put in place of
    what comes before its last two parts.
    """
    here = os.environ.get(LANE_DIR)
    if not here:
        return lane_path
    socket = Path(lane_path)
    return str(Path(here, socket.parent.name, socket.name))
