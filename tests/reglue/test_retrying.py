"""The lengths of pauses between tries, and the time for all of them."""

from __future__ import annotations

import time
from itertools import islice

import pytest

from reglue.retrying import Backoff


def test_pauses_grow_up_to_the_most() -> None:
    assert [*islice(Backoff(1.0, factor=2.0, most_s=5.0).pauses(), 5)] == [1.0, 2.0, 4.0, 5.0, 5.0]
    assert [*islice(Backoff(0.5).pauses(), 3)] == [0.5, 0.5, 0.5]


def test_the_pause_after_a_number_of_failures_is_that_of_the_row() -> None:
    assert [Backoff(1.0, factor=5.0).after(failed) for failed in (1, 2, 3)] == [1.0, 5.0, 25.0]


def test_no_try_begins_after_the_time_for_all(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 100.0
    monkeypatch.setattr(time, "monotonic", lambda: now)
    tries = Backoff(1.0, factor=2.0).within(7.0)
    for pause_s in (1.0, 2.0, 4.0):
        assert tries.pause_s() == pause_s
        now += pause_s
    assert tries.left_s == 0.0
    assert tries.pause_s() is None
