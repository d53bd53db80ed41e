"""How long to look for an answer before sleeping until it comes."""

from __future__ import annotations

import os

SPIN_S = 200e-6
"""As long as a turn of a light agent takes: waking up from sleep would double it."""

_MOST_RESTS = 1024


class AdaptiveSpin:
    """Whether looking pays, learnt from how it went.

    Looking keeps a core busy. It is done only where this process may run on two cores or
    more, and only as long as answers come within SPIN_S: an answer that came too late
    (the peer thinks for long, or others need the cores) makes the next waits sleep at
    once, twice as many each time that it happens again.
    """

    def __init__(self) -> None:
        self._rests = 0  # waits that sleep at once
        self._penalty = 1 if _cores() > 1 else 0

    def pays(self) -> bool:
        """Whether to look before sleeping, this time."""
        if self._rests:
            self._rests -= 1
            return False
        return self._penalty > 0

    def hit(self) -> None:
        """It came while one looked."""
        self._penalty = 1

    def missed(self) -> None:
        """It did not."""
        self._rests = self._penalty
        self._penalty = min(2 * self._penalty, _MOST_RESTS)


def _cores() -> int:
    """On which this process may run."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
