"""Ends what tests started, however their pytest ends, also by SIGKILL.

`python orphans.py FOLDER DESCRIPTOR` waits until the process of that descriptor has ended, or
closes this one's stdin. Then it kills every process whose TMPDIR is in the folder, and removes the
folder. It needs Python's standard library alone.
"""

from __future__ import annotations

import os
import select
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

_KILL_S = 20.0  # one that waits for a device, which nobody can kill, is left to the system


@contextmanager
def ended_with_us(folder: Path) -> Iterator[None]:
    """End processes whose TMPDIR is in `folder` with the block, or with this process: on Linux."""
    if sys.platform != "linux":
        yield
        return
    us = os.pidfd_open(os.getpid())
    words = [sys.executable, "-I", "-S", __file__, str(folder), str(us)]
    with subprocess.Popen(
        words,
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        pass_fds=[us],
        start_new_session=True,  # nor does Ctrl-C end it
    ):
        os.close(us)
        yield


def _main(folder: str, descriptor: int) -> None:
    poll = select.poll()
    poll.register(0, 0)  # hang-ups are always told
    poll.register(descriptor, select.POLLIN)
    poll.poll()
    deadline = time.monotonic() + _KILL_S
    while (left := _processes_of(folder)) and time.monotonic() < deadline:  # they may start others
        for pid in left:
            with suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
    shutil.rmtree(folder, ignore_errors=True)


def _processes_of(folder: str) -> list[int]:
    """Those that began with a TMPDIR in the folder; the kernel shows zombies without one."""
    found, mark = [], os.fsencode(f"TMPDIR={folder}")
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):  # it has just ended, or is somebody else's
            variables = (process / "environ").read_bytes().split(b"\0")
            if any(variable.startswith(mark) for variable in variables):
                found.append(int(process.name))
    return found


if __name__ == "__main__":
    _main(sys.argv[1], int(sys.argv[2]))
