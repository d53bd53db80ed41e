"""Ctrl-C waits until a commit is through, and a second one until all is let go."""

from __future__ import annotations

import os
import signal
import socket
import threading
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, nullcontext, suppress

import pytest

from glue_server.processes.event_loop import sleep
from glue_server.processes.interrupts import (
    CLOSING_S,
    hurried,
    interruptible,
    is_stopping,
    stop_play,
    stopped_by_signals,
    uninterrupted,
    wait_for_interrupt,
)
from glue_server.processes.readable import readable
from tests.error_facts import raises
from tests.waiting import PATIENCE_S, until

LONG_S = 100.0  # how long something takes to close that is not hurried


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


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_server_is_stopped_by_the_first_signal_and_ended_by_the_second(
    number: signal.Signals,
) -> None:
    heard = []
    before = signal.signal(number, lambda *_: heard.append(number))
    try:
        with stopped_by_signals() as stop:
            assert not stop.is_set()
            signal.raise_signal(number)
            assert (stop.is_set(), heard) == (True, [])
            signal.raise_signal(number)
            assert heard == [number]
        signal.raise_signal(number)
        assert heard == [number, number]
    finally:
        signal.signal(number, before)


def test_an_error_of_the_lines_is_not_hidden() -> None:
    with raises(ValueError, "mine"), uninterrupted():
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


def test_an_error_that_an_interrupt_led_to_is_the_interrupt() -> None:
    """Ctrl-C within `Condition.wait` ends as "release unlocked lock"."""
    lock = threading.Lock()

    def work() -> None:
        with lock:
            lock.release()
            press()

    with uninterrupted():
        assert interruptible(work)


def test_an_error_beside_an_interrupt_is_told() -> None:
    def work() -> None:
        with suppress(KeyboardInterrupt):
            press()
        raise ValueError("mine")

    with raises(ValueError, "mine"), uninterrupted():
        interruptible(work)


def press() -> None:
    signal.raise_signal(signal.SIGINT)


def test_lines_within_lines_leave_an_interrupt_to_the_outer_ones() -> None:
    done = []

    def write() -> None:
        with uninterrupted():
            with uninterrupted():
                press()
            done.append("all")

    with pytest.raises(KeyboardInterrupt):
        write()
    assert done == ["all"]


def test_lines_within_those_that_forget_an_interrupt_raise_none() -> None:
    with uninterrupted(then_raise=False), uninterrupted():
        press()


def test_what_may_be_interrupted_within_such_lines_is_ended_by_the_first() -> None:
    done = []

    def play() -> None:
        press()
        done.append("played on")

    try:
        with uninterrupted():
            assert interruptible(play)
            press()  # the second one is dropped
            done.append("closed")
    except KeyboardInterrupt:  # which would end pytest itself
        done.append("interrupted again")
    assert done == ["closed"]


def test_an_interrupt_just_before_what_may_be_interrupted_ends_it_too() -> None:
    with uninterrupted():
        press()
        assert interruptible(lambda: pytest.fail("it began"))


def test_an_interrupt_after_what_may_be_interrupted_is_raised_at_the_end() -> None:
    done = []

    def carry_out() -> None:
        with uninterrupted():
            assert not interruptible(lambda: None)
            press()
            done.append("closed")

    with pytest.raises(KeyboardInterrupt):
        carry_out()
    assert done == ["closed"]


def test_an_interrupt_that_is_swallowed_is_raised_again_by_the_next() -> None:
    """As by an environment that catches whatever comes."""

    def swallow() -> None:
        try:
            press()
        except BaseException:  # noqa: BLE001 - as somebody's environment
            press()

    with uninterrupted():
        assert interruptible(swallow)


def test_a_second_interrupt_that_comes_while_the_first_is_looked_at_is_dropped(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The interrupted lines have ended by then: raising again would harm the lines around them."""

    def look(error: BaseException) -> bool:
        press()
        return isinstance(error, KeyboardInterrupt)

    monkeypatch.setattr("glue_server.processes.interrupts.is_interrupt", look)
    try:
        with uninterrupted():
            assert interruptible(press)
    except KeyboardInterrupt:  # which would end pytest itself
        pytest.fail("interrupted again")


def test_a_commit_within_what_may_be_interrupted_is_through_first() -> None:
    done = []

    def play() -> None:
        with uninterrupted():
            press()
            done.append("committed")
        done.append("played on")

    with uninterrupted():
        assert interruptible(play)
    assert done == ["committed"]


def test_what_a_shell_has_us_ignore_stays_ignored() -> None:
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with uninterrupted():
            press()
            assert not interruptible(press)
    finally:
        signal.signal(signal.SIGINT, before)


@pytest.mark.parametrize("inner", [nullcontext, uninterrupted])
@pytest.mark.parametrize("is_play", [False, True])
def test_all_that_closes_after_an_interrupt_shares_what_time_is_left(
    inner: Callable[[], AbstractContextManager[None]], is_play: bool
) -> None:
    """Also in other threads; a second one gives no more."""
    with suppress(KeyboardInterrupt), uninterrupted():
        assert hurried(LONG_S) == LONG_S
        if is_play:
            assert interruptible(press)
        else:
            press()
        with inner():
            check_hurried()
    assert hurried(LONG_S) == LONG_S


def test_lines_that_an_interrupt_leads_to_are_hurried() -> None:
    try:
        press()
    except KeyboardInterrupt:
        with suppress(KeyboardInterrupt), uninterrupted():
            check_hurried()


def check_hurried() -> None:
    before = hurried(LONG_S)
    time.sleep(0.05)
    press()
    with ThreadPoolExecutor(1) as beside:
        after = beside.submit(hurried, LONG_S).result()
    assert 0.0 <= after <= before - 0.05
    assert before <= CLOSING_S
    assert hurried(0.0) == 0.0


def test_who_swallows_an_interrupt_is_not_hurried() -> None:
    def swallow() -> None:
        with suppress(KeyboardInterrupt):
            press()

    with uninterrupted():
        assert not interruptible(swallow)
        assert hurried(LONG_S) == LONG_S


def test_an_interrupt_that_another_thread_was_given_is_heard() -> None:
    def interrupt_itself() -> None:
        time.sleep(0.2)  # until we wait
        signal.pthread_kill(threading.get_ident(), signal.SIGINT)

    with ThreadPoolExecutor(1) as threads:
        threads.submit(interrupt_itself)
        with pytest.raises(KeyboardInterrupt):
            wait_for_interrupt()


def test_an_interrupt_at_any_moment_ends_what_may_be_interrupted_and_nothing_else() -> None:
    counts = Counter[str]()

    def play() -> None:
        for _ in range(50):
            with uninterrupted():
                counts["begun"] += 1
                with uninterrupted():
                    counts["committed"] += 1
        if not counts["rounds"]:
            os.kill(os.getpid(), signal.SIGINT)

    def press_often() -> None:
        while counts["rounds"] < 300:
            time.sleep(0.0002)
            os.kill(os.getpid(), signal.SIGINT)

    before = signal.signal(signal.SIGINT, lambda *_: None)  # between two rounds
    try:
        with ThreadPoolExecutor(1) as threads:
            threads.submit(press_often)
            while counts["rounds"] < 300:
                with uninterrupted(then_raise=False):
                    counts["ended"] += interruptible(play)
                    counts["rounds"] += 1
    finally:
        signal.signal(signal.SIGINT, before)
    assert counts["begun"] == counts["committed"]
    assert counts["ended"] > 0
    assert not is_stopping()
    assert hurried(LONG_S) == LONG_S


def wait_on_a_socket(within_s: float = PATIENCE_S) -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        readable([ours], within_s)


WAITS = pytest.mark.parametrize(
    "wait", [wait_on_a_socket, lambda: sleep(PATIENCE_S)], ids=["socket", "sleep"]
)


@WAITS
def test_an_interrupt_ends_the_waits_of_other_threads_too(wait: Callable[[], None]) -> None:
    waits = threading.Event()

    def play() -> None:
        waits.set()
        wait()
        pytest.fail("it waited for all of it")

    with uninterrupted(then_raise=False), ThreadPoolExecutor(1) as threads:
        ended = threads.submit(interruptible, play)
        assert waits.wait(PATIENCE_S)
        press()
        assert ended.result(PATIENCE_S)
        assert threads.submit(interruptible, play).result(PATIENCE_S)  # whatever else it plays
    assert not is_stopping()


@WAITS
@pytest.mark.usefixtures("own_stop")
def test_the_end_of_play_that_a_parent_asks_for_ends_waits(wait: Callable[[], None]) -> None:
    def play() -> None:
        stop_play()
        wait()

    with uninterrupted():
        assert interruptible(play)
    assert interruptible(lambda: pytest.fail("it began"))


def test_lines_of_other_threads_are_through_before_an_interrupt_ends_them() -> None:
    done: list[str] = []

    def play() -> None:
        with uninterrupted():
            signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)
            until(is_stopping, "the main thread has heard it")
            sleep(0.0)
            wait_on_a_socket(0.0)
            done.append("committed")
        done.append("played on")

    with uninterrupted(then_raise=False), ThreadPoolExecutor(1) as threads:
        assert threads.submit(interruptible, play).result(PATIENCE_S)
    assert done == ["committed"]
