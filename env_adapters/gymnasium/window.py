"""Pictures without a window."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

_DRIVER = "SDL_VIDEODRIVER"


@contextmanager
def without_window() -> Iterator[None]:
    """Around what pygame draws: its SDL else looks for a display, and complains of what it lacks.

    Who has chosen a driver keeps it.
    """
    if _DRIVER in os.environ:
        yield
        return
    os.environ[_DRIVER] = "dummy"
    try:
        yield
    finally:
        del os.environ[_DRIVER]
