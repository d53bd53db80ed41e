"""How long a partner whose stream broke tries to come back."""

from __future__ import annotations

import time
from itertools import count

from reglue.absence import Absence


def tries(absence: Absence, *, stood_s: float = 0.0, has_heard: bool = False) -> int:
    """How many streams break before it gives up; ten mean that it would go on for ever."""
    for number in count():
        pause_s = absence.pause_s(stood_s=stood_s, has_heard=has_heard)
        if pause_s is None or number == 10:
            return number
        time.sleep(pause_s)
    raise AssertionError("count never ends")


def test_streams_that_break_at_once_end_it() -> None:
    began = time.monotonic()
    assert 1 <= tries(Absence(0.5), stood_s=0.9) < 10
    assert time.monotonic() - began <= 0.6


def test_a_stream_that_stood_begins_it_anew() -> None:
    assert tries(Absence(0.2), stood_s=1.0) == 10


def test_a_call_that_was_heard_begins_it_anew() -> None:
    assert tries(Absence(0.2), has_heard=True) == 10


def test_who_may_not_come_back_does_not_try() -> None:
    assert tries(Absence(0.0), stood_s=1000.0) == 0
