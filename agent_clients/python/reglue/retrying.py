"""Pauses between tries of something that may work the next time."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice


@dataclass(frozen=True, slots=True)
class Backoff:
    """The lengths of pauses: the first, each by `factor` longer than the one before, the most."""

    first_s: float
    factor: float = 1.0
    most_s: float = math.inf

    def pauses(self) -> Iterator[float]:
        """Each pause, seconds, without an end."""
        pause_s = self.first_s
        while True:
            yield pause_s
            pause_s = min(self.factor * pause_s, self.most_s)

    def after(self, failed: int) -> float:
        """The pause after that many failed tries, one or more; seconds."""
        return next(islice(self.pauses(), failed - 1, None))

    def within(self, limit_s: float) -> Tries:
        """Tries from now on, of which the last begins within `limit_s` seconds."""
        return Tries(self, limit_s)


class Tries:
    """The time for all tries of one thing."""

    def __init__(self, backoff: Backoff, limit_s: float) -> None:
        self._pauses = backoff.pauses()
        self._until = time.monotonic() + limit_s

    @property
    def left_s(self) -> float:
        """The time that is left, seconds; negative once it is over."""
        return self._until - time.monotonic()

    def pause_s(self) -> float | None:
        """The pause before the next try, seconds; None if that would begin too late."""
        pause_s = next(self._pauses)
        return None if pause_s > self.left_s else pause_s
