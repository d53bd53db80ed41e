"""Says in whose lines this process crashed: environments and agents of others may play in it."""

from __future__ import annotations

import faulthandler
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress


@contextmanager
def crashes_reported() -> Iterator[None]:
    """Have a crash within these lines print where the thread that crashed was.

    A process whose faulthandler is enabled keeps its own. One that calls `os._exit` says nothing.
    """
    if sys.__stderr__ is None or faulthandler.is_enabled():
        yield
        return
    with suppress(OSError, ValueError):  # it is closed
        faulthandler.enable(sys.__stderr__, all_threads=False)
    try:
        yield
    finally:
        faulthandler.disable()
