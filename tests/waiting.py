"""Waiting for what other threads and processes bring about."""

from __future__ import annotations

import time
from collections.abc import Callable

PATIENCE_S = 60.0


def until(condition: Callable[[], bool], what: str) -> None:
    """Return once `condition` holds; fail with `what` if it does not within PATIENCE_S."""
    deadline = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < deadline, f"waited {PATIENCE_S:g} s until {what}"
        time.sleep(0.01)
