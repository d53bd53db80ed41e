"""Ctrl-C waits until a commit is through."""

from __future__ import annotations

import signal
import threading

import pytest

from glue_server.interrupts import uninterrupted


def test_an_interrupt_is_raised_after_the_lines_it_came_in() -> None:
    done = []

    def write() -> None:
        with uninterrupted():
            signal.raise_signal(signal.SIGINT)
            done.append("written")

    with pytest.raises(KeyboardInterrupt):
        write()
    assert done == ["written"]


def test_what_is_ending_anyway_forgets_an_interrupt() -> None:
    with uninterrupted(then_raise=False):
        signal.raise_signal(signal.SIGINT)


def test_the_handler_that_was_there_is_back_afterwards() -> None:
    before = signal.getsignal(signal.SIGINT)
    with uninterrupted():
        assert signal.getsignal(signal.SIGINT) is not before
    assert signal.getsignal(signal.SIGINT) is before


def test_an_error_of_the_lines_is_not_hidden() -> None:
    with pytest.raises(ValueError, match="mine"), uninterrupted():
        raise ValueError("mine")


def test_other_threads_may_write_too() -> None:
    done: list[str] = []

    def write() -> None:
        with uninterrupted():
            done.append("written")

    thread = threading.Thread(target=write)
    thread.start()
    thread.join(10)
    assert done == ["written"]
