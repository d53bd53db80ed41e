"""How long a peer whose stream broke tries to come back."""

from __future__ import annotations

import time

from reglue.net.session import ReconnectWait


def pauses(absence: ReconnectWait, *, stood_s: float = 0.0, has_heard: bool = False) -> list[float]:
    """Before each stream, until it gives up; ten mean that it would go on for ever."""
    found: list[float] = []
    while len(found) < 10:
        pause_s = absence.pause_s(stood_s=stood_s, has_heard=has_heard)
        if pause_s is None:
            break
        found.append(pause_s)
        time.sleep(pause_s)  # what it measures is time
    return found


def test_streams_that_break_at_once_end_it() -> None:
    found = pauses(ReconnectWait(0.5), stood_s=0.9)
    assert 1 <= len(found) < 10
    assert sum(found) <= 0.5


def test_a_stream_that_stood_begins_it_anew() -> None:
    assert len(pauses(ReconnectWait(0.2), stood_s=1.0)) == 10


def test_a_call_that_was_heard_begins_it_anew() -> None:
    assert len(pauses(ReconnectWait(0.2), has_heard=True)) == 10


def test_who_may_not_come_back_does_not_try() -> None:
    assert pauses(ReconnectWait(0.0), stood_s=1000.0) == []
