"""Decides whether a process that waits for a fast peer spins before it sleeps."""

from __future__ import annotations

import os
import select
import time
from collections.abc import Callable

SPIN_S = 200e-6
"""About a turn of a light agent: to sleep and wake up would double it."""

_MOST_RESTS = 1024


class AdaptiveSpin:
    """Tells whether to spin before a wait sleeps, learnt from the last waits.

    Spinning keeps a core awake, so that a process that is woken there runs at once: it gives way to
    others all the time. It is done only if this process may run on two cores or
    more, and only while answers come within SPIN_S. An answer that comes later
    (the peer thinks for long, or others need the cores) makes the next waits sleep at
    once, twice as many each time.
    """

    def __init__(self) -> None:
        self._rests = 0  # waits that sleep at once
        self._penalty = 1 if _cores() > 1 else 0

    def pays(self) -> bool:
        """Whether to spin this time."""
        if self._rests:
            self._rests -= 1
            return False
        return self._penalty > 0

    def hit(self) -> None:
        """The message came while we spun."""
        self._penalty = 1

    def missed(self) -> None:
        """The message did not come while we spun."""
        self._rests = self._penalty
        self._penalty = min(2 * self._penalty, _MOST_RESTS)

    def spin(self, poll: select.poll) -> list[tuple[int, int]]:
        """Spin for a moment, or until something comes: what `poll` found, so nobody asks twice."""
        if found := poll.poll(0):  # it was there already
            return found
        stop = time.monotonic() + SPIN_S
        while time.monotonic() < stop:
            if found := poll.poll(0):
                self.hit()
                return found
            _give_way()
        self.missed()
        return []


_give_way: Callable[[], None] = getattr(os, "sched_yield", lambda: None)  # Linux has it


def _cores() -> int:
    """The number of cores on which this process may run."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
