"""The wait of a peer whose stream broke, and its tries to come back."""

from __future__ import annotations

from reglue.net.lobby import PAUSES
from reglue.retrying import Tries

_STOOD_S = 1.0  # after which a stream was good


def was_good(*, stood_s: float, has_heard: bool) -> bool:
    """Whether a stream was: something new was heard on it (`has_heard`), or it stood for a second
    with this peer admitted (`stood_s`). Less proves nothing: a call may break every stream that it
    comes over.
    """
    return has_heard or stood_s >= _STOOD_S


class ReconnectWait:
    """The time in which a peer whose stream broke tries to come back: `most_s` seconds from the end
    of the last good stream.
    """

    def __init__(self, most_s: float) -> None:
        self.most_s = most_s
        self._tries: Tries | None = None  # since the last good stream

    def restart(self) -> None:
        """A good stream has ended: the time begins anew with the next pause."""
        self._tries = None

    def pause_s(self) -> float | None:
        """Seconds to wait before the next try; None if it is too late for one."""
        if self._tries is None:
            self._tries = PAUSES.within(self.most_s)
        return self._tries.pause_s()
