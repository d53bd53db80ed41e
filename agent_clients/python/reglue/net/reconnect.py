"""How long a peer whose stream broke tries to come back."""

from __future__ import annotations

import time

from reglue.net.lobby import backoff

_STOOD_S = 1.0


class ReconnectWait:
    """From the last stream that was any good, until nobody waits any more."""

    def __init__(self, most_s: float) -> None:
        self._most_s = most_s
        self._since: float | None = None
        self._pauses = backoff()

    def pause_s(self, *, stood_s: float, has_heard: bool) -> float | None:
        """How long to wait before the next stream, in seconds; None if it is too late for one.

        The last stream was good, and the absence begins with its end, if something new was
        heard on it (`has_heard`) or it stood for a second with this peer seated
        (`stood_s`). Less proves nothing: a call may break every stream that it comes over.
        """
        now = time.monotonic()
        if self._since is None or has_heard or stood_s >= _STOOD_S:
            self._since, self._pauses = now, backoff()
        pause_s = next(self._pauses)
        return None if now + pause_s > self._since + self._most_s else pause_s
