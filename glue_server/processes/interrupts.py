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
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.getsignal(signal.SIGINT)
    outer = before if isinstance(before, _Held) else None
    held = _Held(outer, ignores=before is signal.SIG_IGN)
    signal.signal(signal.SIGINT, held)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
    if held.heard is None or held.has_ended:
        return
    if isinstance(before, _Held):
        before(held.heard, sys._getframe())
    elif then_raise:
        raise KeyboardInterrupt


def interruptible(function: Callable[[], None]) -> bool:
    """Call `function` within `uninterrupted`, and let Ctrl-C end it alone; whether it did.

    What comes after the first Ctrl-C that ended it is forgotten: there is no line at which a
    second one could do harm. One that `function` swallowed is raised again by the next. An error
    that Ctrl-C led to counts as Ctrl-C: raised within a lock's own lines, it ends as their error.
    """
    held = signal.getsignal(signal.SIGINT)
    if not isinstance(held, _Held) or threading.current_thread() is not threading.main_thread():
        held = _Held()
    try:
        _begin(function, held)
    except BaseException as error:
        if not is_interrupt(error):
            raise
        held.has_ended = True
        return True
    finally:
        held.within = None
    if held.heard is None:
        held.until = math.inf  # also where it swallowed one
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
    held = signal.getsignal(signal.SIGINT)
    if not isinstance(held, _Held):
        return most_s
    return max(0.0, min(most_s, held.closed_by - time.monotonic()))


def interrupt(number: int, frame: FrameType | None) -> None:
    """A signal's handler: as Ctrl-C, also where a shell has told us to ignore that."""
    handler = signal.getsignal(signal.SIGINT)
    if not callable(handler):
        raise KeyboardInterrupt
    handler(number, frame)


class _Held:
    """SIGINT's handler in the lines of `uninterrupted`: takes down which signal came."""

    def __init__(self, outer: _Held | None = None, *, ignores: bool = False) -> None:
        self.heard: int | None = None
        self.within: FrameType | None = None  # `interruptible`: what it calls hears Ctrl-C
        self.has_ended = False  # by Ctrl-C: what comes now is forgotten
        # When what closes is to be over, monotonic seconds; Ctrl-C may be why it closes.
        is_closing = isinstance(sys.exception(), KeyboardInterrupt)
        self.until = time.monotonic() + CLOSING_S if is_closing else math.inf
        self._outer = outer
        self._ignores = ignores  # SIGINT itself: a shell's background jobs are to

    def __call__(self, number: int, frame: FrameType | None) -> None:
        if self._ignores and number == signal.SIGINT:
            return
        until = time.monotonic() + CLOSING_S
        if self.within is not None and _is_called_by(frame, self.within):
            self.until = until
            raise KeyboardInterrupt
        self.until = min(self.until, until)
        self.heard = number

    @property
    def closed_by(self) -> float:
        """When all is to be over, here and in the lines around."""
        return min(self.until, math.inf if self._outer is None else self._outer.closed_by)


def _begin(function: Callable[[], None], held: _Held) -> None:
    """Call `function`. Ctrl-C is raised in what this frame calls, and not once it has ended."""
    held.within = sys._getframe()
    if held.heard is not None:  # just before
        raise KeyboardInterrupt
    function()


def _is_called_by(frame: FrameType | None, caller: FrameType) -> bool:
    while frame is not None:
        frame = frame.f_back
        if frame is caller:
            return True
    return False
