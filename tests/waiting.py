"""Waiting for what other threads and processes bring about."""

from __future__ import annotations

import time
from collections.abc import Callable

PATIENCE_S = 60.0


def until(condition: Callable[[], bool], what: str, most_s: float = PATIENCE_S) -> None:
    """Return once `condition` holds; fail with `what` if it does not within `most_s` seconds."""
    deadline = time.monotonic() + most_s
    while not condition():
        assert time.monotonic() < deadline, f"waited {most_s:g} s until {what}"
        time.sleep(0.01)
