"""The console script's first lines: Ctrl-C while modules load leaves, without a traceback.

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
    """From now on Ctrl-C leaves with 130 at once: where there is nothing to let go.

    It stays ignored where a shell has told its background jobs to ignore it.
    """
    if signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:
        signal.signal(signal.SIGINT, _leave)


def hear_ctrl_c() -> None:
    """From now on it raises KeyboardInterrupt again."""
    if signal.getsignal(signal.SIGINT) is _leave:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def _leave(*_: object) -> None:
    os._exit(130)
