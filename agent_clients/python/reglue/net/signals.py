"""Ctrl-C, and SIGTERM as `docker stop` sends it: both end a script, and the glue is told."""

from __future__ import annotations

import logging
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NoReturn

log = logging.getLogger("reglue")

INTERRUPTED = 128 + signal.SIGINT
"""Exit code: as shells say of a program that SIGINT ended."""

_TERMINATED = 128 + signal.SIGTERM


class _Interrupted(SystemExit, KeyboardInterrupt):
    """Ctrl-C: a program may catch it as ever, and a script that does not exits with 130."""


@contextmanager
def signals_exit(*, handles: bool = True) -> Iterator[None]:
    """Raise what exits with 130 after Ctrl-C, and with 143 where SIGTERM finds the program.

    So it leaves as it should. A SIGTERM that the program handles or ignores by itself is left
    alone, and only the main thread hears signals. The first process of a container hears SIGTERM
    too, which otherwise ignores it.
    """
    if not (handles and threading.current_thread() is threading.main_thread()):
        yield
        return
    is_ours = signal.getsignal(signal.SIGTERM) is signal.SIG_DFL
    if is_ours:
        signal.signal(signal.SIGTERM, _exit)
    try:
        yield
    except BaseException as error:
        if (found := interruption(error)) is None:
            raise
        log.warning("interrupted")
        if isinstance(found, KeyboardInterrupt):
            raise _Interrupted(INTERRUPTED) from error
        raise SystemExit(_TERMINATED) from error
    finally:
        if is_ours and signal.getsignal(signal.SIGTERM) is _exit:
            signal.signal(signal.SIGTERM, signal.SIG_DFL)


def interruption(error: BaseException | None) -> BaseException | None:
    """What Ctrl-C or SIGTERM raised, if `error` is that, or was raised while it was on its way:
    within a lock's own lines it ends as the lock's RuntimeError.
    """
    while error is not None:
        is_exit = isinstance(error, SystemExit) and error.code == _TERMINATED
        if is_exit or isinstance(error, KeyboardInterrupt):
            return error
        error = error.__context__
    return None


def _exit(_: int, __: object) -> NoReturn:
    raise SystemExit(_TERMINATED)
