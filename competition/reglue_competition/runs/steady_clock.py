"""A clock that doubts jumps: a phase is closed by its date, but not by a wrong clock."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

log = logging.getLogger("reglue")

JUMP = timedelta(hours=1)
"""A clock that moves so much more or less than time has passed has jumped."""

STEADY_S = 600.0
"""Seconds for which it must go on steadily after a jump until it is believed. A machine that was
suspended is right at once; one that asks a time server after its start is wrong for less than this.
"""


class SteadyClock:
    """The time, UTC. After a jump it continues as before the jump, until the jump is believed.

    Any thread may ask.
    """

    def __init__(
        self,
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
        passed: Callable[[], float] = time.monotonic,
    ) -> None:
        """`passed` are seconds that no clock changes."""
        self._clock, self._passed = clock, passed
        self._believed, self._at = clock(), passed()
        self._jump = timedelta()
        self._jumped_at = 0.0
        self._lock = threading.Lock()

    def __call__(self) -> datetime:
        """The time that decisions rest on."""
        with self._lock:
            return self._look()

    def _look(self) -> datetime:
        now, passed = self._clock(), self._passed()
        expected = self._believed + timedelta(seconds=passed - self._at)
        jump = now - expected
        if abs(jump) > JUMP:
            if abs(jump - self._jump) > JUMP:
                self._jump, self._jumped_at = jump, passed
                log.error(
                    "the clock has jumped from %s to %s UTC: no phase opens or closes by it before "
                    "it has gone on steadily for %g min; if it is wrong, set it",
                    *(f"{each:%Y-%m-%d %H:%M}" for each in (expected, now)),
                    STEADY_S / 60,
                )
            if passed - self._jumped_at < STEADY_S:
                return expected
            log.warning("the clock is believed again: it is %s UTC", f"{now:%Y-%m-%d %H:%M}")
        self._believed, self._at, self._jump = now, passed, timedelta()
        return now
