"""Stopping this process: by a signal, or by its parent; interruptible work then ends.

Within `interruptible` a signal raises KeyboardInterrupt in the main thread at once, and every wait
of another thread raises it soon: see `next_look_s`. In the other lines of `uninterrupted` nothing
is interrupted. Outside of both Ctrl-C is Python's own. Children, commands and servers have their
handlers set here, too: no other file above the SDK sets one.
"""

from __future__ import annotations

import math
import signal
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import NoReturn

from reglue.errors import is_interrupt
from reglue.tracebacks import authors_place

CLOSING_S = 1.4
"""Seconds that everything that closes after Ctrl-C may take together."""

_LOOK_S = 0.2  # how often a wait looks whether it is to stop


@contextmanager
def uninterrupted(*, then_raise: bool = True) -> Iterator[None]:
    """Let some lines finish: a Ctrl-C that comes meanwhile is raised after them.

    With `then_raise` false it is forgotten: for the last lines of something that is ending anyway.
    Nested in such a block, the outer one raises it. Within `interruptible` it is raised in any
    case. An error of the lines themselves goes first.
    """
    before, _here.may_stop = _here.may_stop, False
    try:
        if _stop.holds_signals or not _is_main():
            yield
        else:
            with _holding_signals(then_raise=then_raise):
                yield
    finally:
        _here.may_stop = before
    check_stop()


def interruptible(function: Callable[[], None]) -> bool:
    """Call `function`, and let Ctrl-C or `stop_play` end it alone. Returns True if they did.

    The main thread calls it within `uninterrupted`, or ignores SIGINT. After the Ctrl-C that ended
    it a second one is ignored, so it cannot hit the clean-up. If `function` swallows a Ctrl-C, the
    next one is raised, or a wait raises it again. An error that Ctrl-C led to counts as Ctrl-C:
    raised within a lock's own lines, it ends as their error. An error after a KeyboardInterrupt
    without a signal is raised: see raise_stop.
    """
    before = _here.may_stop
    try:
        try:
            _here.may_stop = True
            check_stop()
            function()
            if _is_main():
                _stop.forget_signals()  # that it swallowed
        finally:  # Python handles signals at calls and loops: none comes before this line
            _here.may_stop = before
    except BaseException as error:
        if not (is_interrupt(error) and (is_stopping() or isinstance(error, KeyboardInterrupt))):
            raise
        if _is_main():
            _stop.has_ended = True
        _here.was_interrupted = True
        _here.interrupted_in = authors_place(error, besides=__file__)
        return True
    return False


@contextmanager
def raising_interrupts() -> Iterator[None]:
    """Raise KeyboardInterrupt after these lines if Ctrl-C ended or missed a part of them.

    `interruptible` says that it ended its function, and lines that are ending anyway forget a
    Ctrl-C, so that a command can show what was done. A program is to end by it. Its note names the
    line of an author's code that was ended, which may have hung.
    """
    before, _here.was_interrupted = _here.was_interrupted, False
    _here.interrupted_in = ""
    try:
        yield
        is_left = _here.was_interrupted
    finally:
        _here.was_interrupted = before
    if is_left:
        interrupt = KeyboardInterrupt()
        if place := _here.interrupted_in:
            interrupt.add_note(f"Ctrl-C came while this line ran: {place}")
        raise interrupt


def raise_stop(error: BaseException) -> None:
    """Raise what a signal led to; return if the code that raised `error` is at fault for it.

    A KeyboardInterrupt is the user's if a signal was heard, or if Python's own handler, which
    leaves no trace, might have raised it. Other handlers are found in the traceback: one for
    SIGTERM may raise SystemExit. What was raised after either is no fault.
    """
    if not isinstance(error, Exception | KeyboardInterrupt | SystemExit):
        raise error
    each: BaseException | None = error
    while each is not None and not _is_by_signal(each):
        each = each.__context__
    if each is error:
        raise error
    if each is not None:
        raise type(each)(*each.args) from error


def stop_play() -> None:
    """End for good what this process plays, as Ctrl-C does: the process that started it says so."""
    _stop.is_for_good = True


def is_stopping() -> bool:
    """Whether what may be interrupted is to end."""
    return _stop.is_for_good or _stop.by_signal


def check_stop() -> None:
    """Raise KeyboardInterrupt if this process is to stop, and that may interrupt these lines."""
    if (_stop.is_for_good or _stop.by_signal) and _here.may_stop:
        raise KeyboardInterrupt


def next_look_s(left_s: float) -> float:
    """Seconds that a wait may sleep before it calls this again; at most `left_s`.

    Raises KeyboardInterrupt: see check_stop. Signals wake the main thread alone, and some waits
    have no descriptor that could be polled beside another.
    """
    if not _here.may_stop:
        return left_s
    check_stop()
    return min(left_s, _LOOK_S)


def wait_for_interrupt() -> NoReturn:
    """Do nothing until Ctrl-C raises KeyboardInterrupt.

    It wakes now and then: if the kernel hands the signal to another thread, Python's handler
    waits for this one.
    """
    while True:
        time.sleep(_LOOK_S)


def hurried(most_s: float) -> float:
    """Seconds that a part that closes may take: `most_s`, or the rest of CLOSING_S after Ctrl-C."""
    return max(0.0, min(most_s, _stop.closed_by - time.monotonic()))


def ignore_ctrl_c() -> None:
    """For a child whose parent hears Ctrl-C, and then ends it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def end_at_ctrl_c() -> None:
    """For a child that has nothing to close: Ctrl-C ends it at once, without a traceback."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def interrupt_at_sigterm() -> None:
    """From now on SIGTERM does as Ctrl-C, also if a shell makes this process ignore that."""
    signal.signal(signal.SIGTERM, _interrupt)


@contextmanager
def stopped_by_signals() -> Iterator[threading.Event]:
    """Within the block the first Ctrl-C, and the first SIGTERM, set the event.

    A second one does what it did before the block.
    """
    stop = threading.Event()
    before = {each: signal.getsignal(each) for each in (signal.SIGTERM, signal.SIGINT)}

    def on_signal(number: int, _: FrameType | None) -> None:
        stop.set()
        # The handler that was there before: a second signal ends what still hangs.
        signal.signal(number, before[signal.Signals(number)])

    for each in before:
        signal.signal(each, on_signal)
    try:
        yield stop
    finally:
        for each, handler in before.items():
            signal.signal(each, handler)


def _interrupt(number: int, frame: FrameType | None) -> None:
    handler = _stop.hear if _stop.holds_signals else signal.getsignal(signal.SIGINT)
    if not callable(handler):
        raise KeyboardInterrupt
    handler(number, frame)


class _Here(threading.local):
    """The state of the present thread."""

    may_stop = False  # it is within `interruptible`
    was_interrupted = False  # and that was ended, since `raising_interrupts` began
    interrupted_in = ""  # the line of an author's code that ran then


_here = _Here()


class _Stop:
    """The request to stop this process, and the time by which all is to be over."""

    is_for_good = False  # its parent says so
    holds_signals = False  # it is within `uninterrupted`

    def __init__(self) -> None:
        self.begin()

    def begin(self, *, ignores: bool = False) -> None:
        """Forget signals. One that `ignores` SIGINT is a shell's background job."""
        self._ignores = ignores
        self.has_ended = False  # what was interruptible: nothing is raised after it
        self.forget_signals()

    def forget_signals(self) -> None:
        """Forget the signals that came."""
        self.by_signal = False
        self.closed_by = math.inf  # when what closes is to be over, monotonic seconds

    def hear(self, number: int, _: FrameType | None) -> None:
        """A handler. Raises KeyboardInterrupt in lines that may be interrupted."""
        if self._ignores and number == signal.SIGINT:
            return
        self.by_signal, until = True, time.monotonic() + CLOSING_S
        if _here.may_stop:
            self.closed_by = until
            raise KeyboardInterrupt
        self.closed_by = min(self.closed_by, until)


_stop = _Stop()


@contextmanager
def _holding_signals(*, then_raise: bool) -> Iterator[None]:
    """In the main thread: SIGINT is heard, and raised at the end."""
    before = signal.getsignal(signal.SIGINT)
    _stop.begin(ignores=before is signal.SIG_IGN)
    if isinstance(sys.exception(), KeyboardInterrupt):  # which is why it closes
        _stop.closed_by = time.monotonic() + CLOSING_S
    try:  # from here on: a signal between the two lines is raised, and the handler put back
        _stop.holds_signals = True
        signal.signal(signal.SIGINT, _stop.hear)
        yield
    finally:
        try:
            signal.signal(signal.SIGINT, before)
        finally:
            _stop.holds_signals = False
            is_left = _stop.by_signal and not _stop.has_ended
            # Forgotten without a call: a signal would be raised at it, before all is.
            _stop.by_signal = _stop.has_ended = False
            _stop.closed_by = math.inf
    if is_left and then_raise:
        raise KeyboardInterrupt
    _here.was_interrupted |= is_left


def _is_main() -> bool:
    return threading.current_thread() is threading.main_thread()


def _is_by_signal(error: BaseException) -> bool:
    if not isinstance(error, KeyboardInterrupt | SystemExit):
        return False
    if isinstance(error, KeyboardInterrupt):
        handler = signal.getsignal(signal.SIGINT)
        if is_stopping() or (_is_main() and handler is signal.default_int_handler):
            return True
    handlers = {_code(signal.getsignal(number)) for number in signal.valid_signals()} - {None}
    return any(frame.f_code in handlers for frame, _ in traceback.walk_tb(error.__traceback__))


def _code(handler: object) -> object:
    """The code of a handler that is written in Python."""
    return getattr(getattr(handler, "func", handler), "__code__", None)
