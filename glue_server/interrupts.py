"""Ctrl-C, kept waiting where it would do harm."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def uninterrupted(*, then_raise: bool = True) -> Iterator[None]:
    """Let a few lines finish: a Ctrl-C that comes meanwhile is raised after them.

    With `then_raise` false it is forgotten: for the last lines of something that is
    ending anyway. Only the main thread is ever interrupted; in any other this does
    nothing. An error of the lines themselves goes first.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    heard: list[int] = []
    before = signal.signal(signal.SIGINT, lambda number, _frame: heard.append(number))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
    if heard and then_raise:
        raise KeyboardInterrupt
