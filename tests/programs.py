"""Python programs that a test runs beside itself."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

_GONE_MS = 20_000
_MOST_S = 300.0


def run_python(
    code: str, *arguments: str, given: str = "", unset: Sequence[str] = (), **variables: str
) -> subprocess.CompletedProcess[str]:
    """Run `code` to its end in a fresh interpreter, which imports what this process can.

    It reads `given`; its environment is this one's without `unset`, and with `variables`.
    """
    kept = {name: value for name, value in os.environ.items() if name not in unset}
    kept["PYTHONPATH"] = os.pathsep.join(filter(None, sys.path))
    return subprocess.run(
        [sys.executable, "-c", code, *arguments],
        env=kept | variables,
        input=given,
        capture_output=True,
        text=True,
        check=True,
        timeout=_MOST_S,
    )


@contextmanager
def program(code: str, folder: Path) -> Iterator[subprocess.Popen[str]]:
    """`code` in that folder and in a session of its own, as if in another terminal.

    It imports what this process can. It is killed with all its group if it is still there.
    """
    with subprocess.Popen(
        [sys.executable, "-c", code],
        cwd=folder,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as process:
        try:
            yield process
        finally:
            if process.poll() is None:  # or it would be waited for, for ever
                os.killpg(process.pid, signal.SIGKILL)


def wait_until_gone(descriptors: Sequence[int]) -> None:
    """Wait for processes by their descriptors; they need not be our children."""
    for descriptor in descriptors:
        poll = select.poll()
        poll.register(descriptor, select.POLLIN)
        assert poll.poll(_GONE_MS), "a process is still there"
        os.close(descriptor)


def kill(pid: int) -> None:
    descriptor = os.pidfd_open(pid)
    os.kill(pid, signal.SIGKILL)
    wait_until_gone([descriptor])
