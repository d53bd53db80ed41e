"""Ctrl-C, kept waiting where it would do harm."""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType


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
    held = _Held(ignores=before is signal.SIG_IGN)
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
    second one could do harm. One that `function` swallowed is raised again by the next.
    """
    held = signal.getsignal(signal.SIGINT)
    if not isinstance(held, _Held) or threading.current_thread() is not threading.main_thread():
        held = _Held()
    held.within = sys._getframe()
    try:
        _begin(function, held)
    except KeyboardInterrupt:
        held.has_ended = True
        return True
    finally:
        held.within = None
    return False


def interrupt(number: int, frame: FrameType | None) -> None:
    """A signal's handler: as Ctrl-C, also where a shell has told us to ignore that."""
    handler = signal.getsignal(signal.SIGINT)
    if not callable(handler):
        raise KeyboardInterrupt
    handler(number, frame)


class _Held:
    """SIGINT's handler in the lines of `uninterrupted`: takes down which signal came."""

    def __init__(self, *, ignores: bool = False) -> None:
        self.heard: int | None = None
        self.within: FrameType | None = None  # `interruptible`: what it calls hears Ctrl-C
        self.has_ended = False  # by Ctrl-C: what comes now is forgotten
        self._ignores = ignores  # SIGINT itself: a shell's background jobs are to

    def __call__(self, number: int, frame: FrameType | None) -> None:
        if self._ignores and number == signal.SIGINT:
            return
        if self.within is not None and _is_called_by(frame, self.within):
            raise KeyboardInterrupt
        self.heard = number


def _begin(function: Callable[[], None], held: _Held) -> None:
    if held.heard is not None:  # just before
        raise KeyboardInterrupt
    function()


def _is_called_by(frame: FrameType | None, caller: FrameType) -> bool:
    while frame is not None:
        frame = frame.f_back
        if frame is caller:
            return True
    return False
