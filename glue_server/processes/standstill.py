"""Whether this process did not run for a while, as it or its machine was stopped."""

from __future__ import annotations

import time

LOOK_S = 0.5
"""A wait is at most as long if its end is to show how long this process did not run."""

_LEAST_S = 1.0  # less may be a busy machine


def stood_still_s(since: float, wait_s: float) -> float:
    """Seconds for which this process did not run; 0 if it may have been running.

    `since` is when a wait of `wait_s` seconds began, in monotonic seconds, which is over now.
    """
    late_s = time.monotonic() - since - wait_s
    return late_s if late_s >= _LEAST_S else 0.0
