"""The console script's first lines: a signal while modules load exits without a traceback.

A module of its own: importing anything takes a while.
"""

from __future__ import annotations

from reglue_signals import leave_at_ctrl_c


def script() -> None:
    """`reglue …`."""
    leave_at_ctrl_c()  # before the import, which takes long enough to be interrupted
    from reglue.__main__ import script

    script()
