"""The console script's first lines: Ctrl-C while modules load exits without a traceback.

A module of its own, as importing `reglue` takes a while already.
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
    """From now on Ctrl-C exits with 130 at once, as nothing has to be released.

    A background job whose shell ignores Ctrl-C goes on ignoring it.
    """
    if signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:
        signal.signal(signal.SIGINT, _leave)


def hear_ctrl_c() -> None:
    """From now on Ctrl-C raises KeyboardInterrupt again."""
    if signal.getsignal(signal.SIGINT) is _leave:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def _leave(*_: object) -> None:
    os._exit(130)
