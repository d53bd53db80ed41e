"""The console script's first lines: a signal while modules load exits without a traceback.

A module of its own: importing anything takes a while.
"""

from __future__ import annotations

import os
import signal


def script() -> None:
    """`reglue …`."""
    leave_at_ctrl_c()
    from reglue.__main__ import script

    script()


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


def _leave(number: int, _: object) -> None:
    os._exit(128 + number)
