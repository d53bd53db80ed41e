"""Waiting for what other threads and processes bring about."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from pathlib import Path

PATIENCE_S = 60.0


def until(condition: Callable[[], bool], what: str, most_s: float = PATIENCE_S) -> None:
    """Return once `condition` holds; fail with `what` if it does not within `most_s` seconds."""
    deadline = time.monotonic() + most_s
    while not condition():
        assert time.monotonic() < deadline, f"waited {most_s:g} s until {what}"
        time.sleep(0.01)


def halt(pid: int) -> None:
    """Stop the process; return once the kernel has, as another signal might still overtake it."""

    def is_stopped() -> bool:
        try:
            stats = [task.read_text() for task in Path(f"/proc/{pid}/task").glob("*/stat")]
        except OSError:  # a thread ended meanwhile
            return False
        return {stat.rpartition(")")[2].split()[0] for stat in stats} == {"T"}

    os.kill(pid, signal.SIGSTOP)
    until(is_stopped, f"process {pid} is stopped")
