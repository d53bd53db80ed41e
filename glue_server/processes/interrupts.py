"""Ctrl-C, kept waiting where it would do harm, and the time that closing may take after it."""

from __future__ import annotations

import math
import select
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import NoReturn

from reglue.errors import is_interrupt

CLOSING_S = 1.4
"""How long all that closes after Ctrl-C may take together."""

_LOOK_MS = 200  # how often a wait looks whether it is to stop


@contextmanager
def uninterrupted(*, then_raise: bool = True) -> Iterator[None]:
    """Let some lines finish: a Ctrl-C that comes meanwhile is raised after them.

    With `then_raise` false it is forgotten: for the last lines of something that is
    ending anyway. Within other such lines it is left to those. Only the main thread is ever
    interrupted; in any other this does nothing. An error of the lines themselves goes first.
    """
    before, _here.may_stop = _here.may_stop, False
    try:
        if _signals.are_held or threading.current_thread() is not threading.main_thread():
            yield
        else:
            with _held_signals(then_raise=then_raise):
                yield
    finally:
        _here.may_stop = before
    if before and _signals.heard:
        raise KeyboardInterrupt


def interruptible(function: Callable[[], None]) -> bool:
    """Call `function` within `uninterrupted`, and let Ctrl-C end it alone; whether it did.

    What comes after the first Ctrl-C that ended it is forgotten: there is no line at which a
    second one could do harm. One that `function` swallowed is raised again by the next. An error
    that Ctrl-C led to counts as Ctrl-C: raised within a lock's own lines, it ends as their error.
    """
    is_main = threading.current_thread() is threading.main_thread()
    before = _here.may_stop
    try:
        try:
            _here.may_stop = True
            if is_main and _signals.heard:  # just before
                raise KeyboardInterrupt
            function()
            if is_main:
                _signals.forget()  # what it swallowed
        finally:  # Python handles signals at calls and loops: none comes before this line
            _here.may_stop = before
    except BaseException as error:
        if not is_interrupt(error):
            raise
        if is_main:
            _signals.have_ended = True
        return True
    return False


def wait_for_interrupt() -> NoReturn:
    """Do nothing until Ctrl-C raises KeyboardInterrupt.

    It wakes now and then: where the kernel hands the signal to another thread, Python's handler
    waits for this one.
    """
    while True:
        time.sleep(_LOOK_MS / 1000)


def check_stop(stop: threading.Event | None) -> None:
    """Raise KeyboardInterrupt once `stop` is set: threads hear no Ctrl-C."""
    if stop is not None and stop.is_set():
        raise KeyboardInterrupt


def wait_or_stop(
    is_ready: Callable[[], bool], filenos: Callable[[], Iterable[int]], stop: threading.Event
) -> None:
    """Wait until `is_ready()`, which changes when a descriptor is readable, or with time.

    Raises KeyboardInterrupt once `stop` is set.
    """
    while not is_ready():
        check_stop(stop)
        poll = select.poll()
        for fileno in filenos():
            poll.register(fileno, select.POLLIN)
        poll.poll(_LOOK_MS)


def hurried(most_s: float) -> float:
    """How long a part that closes may take: `most_s`, or what Ctrl-C has left of CLOSING_S."""
    return max(0.0, min(most_s, _signals.closed_by - time.monotonic()))


def interrupt(number: int, frame: FrameType | None) -> None:
    """A signal's handler: as Ctrl-C, also where a shell has told us to ignore that."""
    handler = _signals.hear if _signals.are_held else signal.getsignal(signal.SIGINT)
    if not callable(handler):
        raise KeyboardInterrupt
    handler(number, frame)


class _Here(threading.local):
    """What the present thread is doing."""

    may_stop = False  # it is within `interruptible`


_here = _Here()


class _Signals:
    """What signals have asked for since the outermost `uninterrupted` began."""

    def __init__(self) -> None:
        self.are_held = False
        self.begin()

    def begin(self, *, ignores: bool = False) -> None:
        """Forget all. One that `ignores` SIGINT is a shell's background job."""
        self._ignores = ignores
        self.have_ended = False  # what was interruptible: what comes now is forgotten
        self.forget()

    def forget(self) -> None:
        """As if none had come."""
        self.heard = False
        self.closed_by = math.inf  # when what closes is to be over, monotonic seconds

    def hear(self, number: int, _: FrameType | None = None) -> None:
        """A handler. Raises KeyboardInterrupt in lines that may be interrupted."""
        if self._ignores and number == signal.SIGINT:
            return
        self.heard, until = True, time.monotonic() + CLOSING_S
        if _here.may_stop:
            self.closed_by = until
            raise KeyboardInterrupt
        self.closed_by = min(self.closed_by, until)


_signals = _Signals()


@contextmanager
def _held_signals(*, then_raise: bool) -> Iterator[None]:
    """In the main thread: SIGINT is heard, and raised at the end."""
    before = signal.getsignal(signal.SIGINT)
    _signals.begin(ignores=before is signal.SIG_IGN)
    if isinstance(sys.exception(), KeyboardInterrupt):  # which is why it closes
        _signals.closed_by = time.monotonic() + CLOSING_S
    try:
        _signals.are_held = True
        signal.signal(signal.SIGINT, _signals.hear)
        yield
    finally:
        try:
            signal.signal(signal.SIGINT, before)
        finally:
            _signals.are_held = False
            is_left = _signals.heard and not _signals.have_ended
            _signals.begin()
    if is_left and then_raise:
        raise KeyboardInterrupt
