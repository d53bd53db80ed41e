"""SIGTERM, as `docker stop` sends it: it ends a program as Ctrl-C does, and the glue is told."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NoReturn

INTERRUPTED = 128 + signal.SIGINT
"""Exit code: as shells say of a program that SIGINT ended."""

_TERMINATED = 128 + signal.SIGTERM


@contextmanager
def termination_exits(*, handles: bool = True) -> Iterator[None]:
    """Raise SystemExit(143) where SIGTERM finds the program, so that it leaves as it should.

    A SIGTERM that the program handles or ignores by itself is left alone, and only the main thread
    hears signals. The first process of a container hears it too, which otherwise ignores it.
    """
    is_main = threading.current_thread() is threading.main_thread()
    if not (handles and is_main and signal.getsignal(signal.SIGTERM) is signal.SIG_DFL):
        yield
        return
    signal.signal(signal.SIGTERM, _exit)
    try:
        yield
    finally:
        if signal.getsignal(signal.SIGTERM) is _exit:
            signal.signal(signal.SIGTERM, signal.SIG_DFL)


def is_interruption(error: BaseException | None) -> bool:
    """Whether it is what Ctrl-C raises, or SIGTERM within `termination_exits`."""
    is_exit = isinstance(error, SystemExit) and error.code == _TERMINATED
    return is_exit or isinstance(error, KeyboardInterrupt)


def _exit(_: int, __: object) -> NoReturn:
    raise SystemExit(_TERMINATED)
