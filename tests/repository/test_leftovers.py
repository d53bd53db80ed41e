"""Leftovers of a test are found, and processes that end in time are not."""

from __future__ import annotations

import threading
import time

import pytest

from tests.leftovers import nothing_left


def test_a_thread_may_begin_another_before_it_ends() -> None:
    def heir() -> None:
        time.sleep(0.2)

    def first() -> None:
        time.sleep(0.1)
        threading.Thread(target=heir).start()

    with nothing_left():
        threading.Thread(target=first).start()


def test_a_thread_that_stays_is_told_with_its_place() -> None:
    may_end = threading.Event()
    told = pytest.raises(AssertionError, match=r"(?s)the-one-that-stays.*in wait")
    with told, nothing_left(0.1):
        threading.Thread(target=may_end.wait, name="the-one-that-stays").start()
    may_end.set()
