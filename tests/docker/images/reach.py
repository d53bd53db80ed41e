"""Looks for a way out of its container, and prints those that it finds."""

from __future__ import annotations

import contextlib
import os
import socket
from collections.abc import Callable
from functools import partial
from pathlib import Path

HOSTS = ("127.0.0.1", "172.17.0.1", "10.0.2.2", "10.0.2.3", "169.254.169.254", "1.1.1.1")
PORTS = (22, 53, 80, 443, 2375, 4096)
FILES = ("/dev/mem", "/dev/sda", "/dev/fuse", "/proc/kcore", "/proc/sysrq-trigger")


def dial(host: str, port: int) -> None:
    """Connect. Raises OSError."""
    socket.create_connection((host, port), 0.2).close()


def write(file: str) -> None:
    """Open it to write. Raises OSError."""
    os.close(os.open(file, os.O_RDWR))


WAYS: dict[str, Callable[[], object]] = {
    **{f"{host}:{port}": partial(dial, host, port) for host in HOSTS for port in PORTS},
    **{file: partial(write, file) for file in FILES},
    "a device": partial(os.mknod, "/tmp/device", 0o20666, os.makedev(1, 1)),
    "root": partial(os.setuid, 0),
    "a name of its machine": partial(socket.sethostname, "mine"),
}

reached = [name for name in Path("/proc/net/unix").read_text().split() if name.startswith("@")]
for name, way in WAYS.items():
    with contextlib.suppress(OSError):
        way()
        reached.append(name)
print("reached:", *reached)
