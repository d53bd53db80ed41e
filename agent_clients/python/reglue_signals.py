"""Handlers of Ctrl-C, and of SIGTERM as `docker stop` sends it, in a process of the SDK.

Outside of the package, and with few imports: the console script calls it before it loads anything.
"""

from __future__ import annotations

import atexit
import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager

INTERRUPTED = 128 + signal.SIGINT
"""Exit code: as shells say of a program that SIGINT ended."""

_TERMINATED = 128 + signal.SIGTERM


def leave_at_ctrl_c() -> None:
    """From now on Ctrl-C exits with 130 at once, SIGTERM with 143: nothing has to be released.

    A background job whose shell ignores Ctrl-C goes on ignoring it.
    """
    if signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:
        signal.signal(signal.SIGINT, _leave)
    if signal.getsignal(signal.SIGTERM) is signal.SIG_DFL:
        signal.signal(signal.SIGTERM, _leave)


def hear_ctrl_c() -> None:
    """From now on Ctrl-C raises KeyboardInterrupt again, and SIGTERM does what it did."""
    if signal.getsignal(signal.SIGINT) is _leave:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    if signal.getsignal(signal.SIGTERM) is _leave:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)


def ignore_ctrl_c_at_exit() -> None:
    """Ignore Ctrl-C once Python ends: it drops handlers then, and the exit code would change."""
    atexit.register(signal.signal, signal.SIGINT, signal.SIG_IGN)


@contextmanager
def signals_exit(*, handles: bool = True) -> Iterator[None]:
    """Raise what exits with 130 after Ctrl-C, and with 143 where SIGTERM finds the program.

    So it leaves as it should, and the glue is told. A SIGTERM that the program handles or ignores
    by itself is left alone, and only the main thread hears signals. The first process of a
    container hears SIGTERM too, which otherwise ignores it.
    """
    import logging
    import threading

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
        logging.getLogger("reglue").warning("interrupted")
        if isinstance(found, KeyboardInterrupt):
            raise _Interrupted(INTERRUPTED) from error
        raise SystemExit(_TERMINATED) from error
    finally:  # a handler that the program has set meanwhile stays
        if is_ours and signal.getsignal(signal.SIGTERM) is _exit:
            signal.signal(signal.SIGTERM, signal.SIG_DFL)


def interruption(error: BaseException | None) -> BaseException | None:
    """The error that Ctrl-C or SIGTERM raised, if `error` is that, or was raised while it was on
    its way: within a lock's own lines it ends as the lock's RuntimeError.
    """
    while error is not None:
        is_exit = isinstance(error, SystemExit) and error.code == _TERMINATED
        if is_exit or isinstance(error, KeyboardInterrupt):
            return error
        error = error.__context__
    return None


class _Interrupted(SystemExit, KeyboardInterrupt):
    """Ctrl-C: a program may catch it as ever, and a script that does not exits with 130."""


def _leave(number: int, _: object) -> None:
    os._exit(128 + number)


def _exit(_: int, __: object) -> None:
    raise SystemExit(_TERMINATED)
