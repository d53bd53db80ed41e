"""Whether a test cleaned up after itself."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

PATIENCE_S = 10.0


@contextmanager
def nothing_left() -> Iterator[None]:
    """Fail if threads or child processes that began within are still there soon after."""
    threads, children = {*threading.enumerate()}, child_processes()
    yield
    deadline = time.monotonic() + PATIENCE_S
    for thread in {*threading.enumerate()} - threads:
        thread.join(max(0.0, deadline - time.monotonic()))
    left = [thread.name for thread in {*threading.enumerate()} - threads]
    assert not left, f"threads still run: {left}"
    assert child_processes() <= children, "child processes still run, or nobody waited for them"


def child_processes() -> set[int]:
    """Ids of this process's children, zombies too."""
    children: set[int] = set()
    for task in Path(f"/proc/{os.getpid()}/task").iterdir():
        with suppress(FileNotFoundError):  # that thread has just ended
            children |= {*map(int, (task / "children").read_text(encoding="ascii").split())}
    return children
