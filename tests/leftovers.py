"""Whether a test cleaned up after itself."""

from __future__ import annotations

import os
import sys
import threading
import time
import traceback
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

PATIENCE_S = 10.0


@contextmanager
def nothing_left(within_s: float = PATIENCE_S) -> Iterator[None]:
    """Fail if threads or child processes that began within are still there so long after."""
    threads, children = {*threading.enumerate()}, child_processes()
    yield
    deadline = time.monotonic() + within_s
    while (left := {*threading.enumerate()} - threads) and time.monotonic() < deadline:
        for thread in left:  # each of which may begin another before it ends
            thread.join(max(0.0, deadline - time.monotonic()))
    assert not left, "\n".join(["threads still run:", *map(_told, left)])
    assert child_processes() <= children, "child processes still run, or nobody waited for them"


def _told(thread: threading.Thread) -> str:
    """Its name, and where it is."""
    frame = sys._current_frames().get(thread.ident or 0)
    return "".join([f"{thread.name}\n", *(traceback.format_stack(frame) if frame else [])])


def child_processes(parent: int | None = None) -> set[int]:
    """Ids of a process's children, zombies too; of this process if none is named."""
    children: set[int] = set()
    for task in Path(f"/proc/{parent or os.getpid()}/task").iterdir():
        with suppress(FileNotFoundError, ProcessLookupError):  # that thread has just ended
            children |= {*map(int, (task / "children").read_text(encoding="ascii").split())}
    return children


def has_ended(process: int) -> bool:
    """Whether it is gone, or a zombie that nobody has waited for."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except (FileNotFoundError, ProcessLookupError):  # the latter while it is read
        return True
