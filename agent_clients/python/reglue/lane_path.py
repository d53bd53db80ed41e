"""Where lanes are: a folder for each run, in it a socket for each role."""

from __future__ import annotations

import os
from pathlib import Path

LANE_DIR = "REGLUE_LANE_DIR"
"""The folder of folders; a glue's and a partner's may be mounted at different places."""

LONGEST = 107
"""Bytes of a Unix socket's path (sun_path holds 108, with the zero behind it)."""


def path_here(lane_path: str) -> str:
    """Where this process finds a ticket's `lane_path`: REGLUE_LANE_DIR is put in place of
    what comes before its last two parts.
    """
    here = os.environ.get(LANE_DIR)
    if not here:
        return lane_path
    socket = Path(lane_path)
    return str(Path(here, socket.parent.name, socket.name))
