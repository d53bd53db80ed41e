"""Sends the glue a GiB of nothing."""

from __future__ import annotations

import contextlib
import os
import socket

glue = socket.socket(socket.AF_UNIX)
glue.connect(os.environ["REGLUE_ADDRESS"].removeprefix("unix:"))
with contextlib.suppress(OSError):
    for _ in range(1024):
        glue.sendall(bytes(1 << 20))
