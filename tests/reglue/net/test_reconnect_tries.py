"""The tries of a peer whose stream broke to come back."""

from __future__ import annotations

import time

from reglue.net.reconnect import ReconnectWait, was_good


def pauses(wait: ReconnectWait, *, is_good: bool = False) -> list[float]:
    """Before each stream, until it gives up; ten mean that it would go on for ever.

    `is_good`: each stream is a good one.
    """
    found: list[float] = []
    while len(found) < 10:
        pause_s = wait.pause_s()
        if pause_s is None:
            break
        found.append(pause_s)
        time.sleep(pause_s)  # what it measures is time
        if is_good:
            wait.restart()
    return found


def test_streams_that_break_at_once_end_it() -> None:
    found = pauses(ReconnectWait(0.5))
    assert 1 <= len(found) < 10
    assert sum(found) <= 0.5


def test_a_good_stream_begins_it_anew() -> None:
    assert len(pauses(ReconnectWait(0.2), is_good=True)) == 10


def test_a_stream_that_stood_or_was_heard_on_is_good() -> None:
    assert was_good(stood_s=1.0, has_heard=False)
    assert was_good(stood_s=0.0, has_heard=True)
    assert not was_good(stood_s=0.9, has_heard=False)


def test_who_may_not_come_back_does_not_try() -> None:
    assert pauses(ReconnectWait(0.0), is_good=True) == []
