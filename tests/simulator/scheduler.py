"""Threads of a simulated run: one goes on at a time, which one is drawn, and time is virtual.

All of them are greenlets of one thread of the system. A thread that waits says for what, and until
when. If all threads wait, time jumps to the next time at which one of them stops waiting. If all
wait without a limit, the run is stuck.
"""

from __future__ import annotations

import heapq
import logging
import math
import random
import traceback
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from itertools import count
from typing import Any, TypeVar

from greenlet import GreenletExit, getcurrent, greenlet

T = TypeVar("T")

_BEGIN = 1_000.0  # monotonic seconds
_TICK_S = 1e-6  # each look at the clock takes so long, so that spinning ends
_WORK_S = 0.001  # what comes between two locks takes so long at most
_SWITCH = 0.1  # probability that a thread makes way where it could go on
_MOST_SWITCHES = 200_000  # of one run: a hundred times what it needs

_idents = count(1)  # of no two threads, also of two runs: Python's modules keep them


class Violation(Exception):
    """A property does not hold."""


@dataclass(eq=False)
class Process:
    """A simulated process: its threads live, stop and end together."""

    name: str
    pid: int
    began: float
    parent: Process | None = None
    is_stopped: bool = False
    was_stopped: bool = False
    exit_code: int | None = None
    at_end: list[Callable[[], None]] = field(default_factory=list)
    state: dict[object, object] = field(default_factory=dict)  # of modules, of which it has its own
    main: Thread | None = None  # its first thread
    signals: deque[Callable[[], None]] = field(default_factory=deque)  # calls of handlers, to come
    hits: list[tuple[float, str]] = field(default_factory=list)
    """The time and kind of each disturbance of it."""

    @property
    def is_alive(self) -> bool:
        """Whether it has not ended."""
        return self.exit_code is None

    def has_ended(self) -> bool:
        """For `Scheduler.wait`."""
        return self.exit_code is not None


@dataclass(eq=False)
class Thread:
    """A simulated thread."""

    ident: int
    process: Process
    stack: greenlet
    ready: Callable[[], bool] = lambda: True
    until: float = math.inf
    on_end: Callable[[], None] = lambda: None

    @property
    def is_signalled(self) -> bool:
        """Whether a handler of a signal is to be called in it."""
        return bool(self.process.signals) and self.process.main is self

    def hear_signals(self) -> None:
        """Call the handlers of the signals that came. Raises what they raise."""
        while self.is_signalled:
            self.process.signals.popleft()()


class Scheduler:
    """The threads, processes and clock of one run. `rng` draws all that is left to chance."""

    def __init__(self, seed: int) -> None:
        self.now = _BEGIN
        self.rng = random.Random(seed)
        self.switches = 0
        self.log: list[str] = []
        self.masked: dict[str, str] = {}  # texts of a trace, by what it shows in their place
        self._own: dict[object, Any] = {}  # of the virtual modules
        self.violations: list[str] = []
        self.disturbed: list[tuple[float, str]] = []  # the time and kind of each disturbance so far
        self._threads: list[Thread] = []
        self._ended: list[Thread] = []  # of processes that were killed; kept so that none goes on
        self._processes: list[Process] = []
        self._events: list[tuple[float, int, Callable[[], object]]] = []  # a heap
        self._current: Thread | None = None
        self._top = getcurrent()
        self.is_over = False

    # For the worlds.

    def process(self, name: str, main: Callable[[], object]) -> Process:
        """Start a process."""
        parent = self._current.process if self._current else None
        process = Process(name, 1000 + len(self._processes), self.now, parent)
        self._processes.append(process)

        def run() -> None:
            code = 1
            try:
                main()
                code = 0
            except GreenletExit:
                raise
            except SystemExit as end:
                code = end.code if isinstance(end.code, int) else 1
            except KeyboardInterrupt:
                code = 130
            except BaseException:  # noqa: BLE001 - the edge of a process
                self.say(f"{name} fails: {traceback.format_exc().splitlines()[-1]}")
            self.end_process(process, code)

        process.main = self.start(run, process)
        return process

    def end_process(self, process: Process, code: int) -> None:
        """End it at once: none of its threads goes on."""
        if not process.is_alive:
            return
        process.exit_code = code
        self.say(f"{process.name} has ended ({code})")
        gone = [each for each in self._threads if each.process is process]
        self._threads = [each for each in self._threads if each.process is not process]
        self._ended += gone
        for done in process.at_end:
            done()
        if self._current is not None and self._current.process is process:
            self._top.switch()

    def stop(self, process: Process) -> None:
        """As SIGSTOP."""
        process.is_stopped = process.was_stopped = True
        self.say(f"{process.name} is stopped")

    def go_on(self, process: Process) -> None:
        """As SIGCONT."""
        process.is_stopped = False
        self.say(f"{process.name} goes on")

    def say(self, what: str) -> None:
        """Add a line to the trace; none once the run is over."""
        if not self.is_over:
            for shown, text in self.masked.items():
                what = what.replace(text, shown)
            self.log.append(f"{self.now - _BEGIN:9.3f} s  {what}")

    def say_here(self, what: str) -> None:
        """Add a line of the present process to the trace."""
        self.say(f"{self._current.process.name if self._current else ''}: {what}")

    def violate(self, what: str) -> None:
        """A property does not hold; none counts once the run is over."""
        if not self.is_over:
            self.violations.append(what)
        self.say(f"VIOLATION: {what}")

    def after(self, seconds: float, event: Callable[[], object]) -> None:
        """Let something happen then, which waits for nothing."""
        heapq.heappush(self._events, (self.now + seconds, next(_idents), event))

    def run(self, *, until: Callable[[], bool], limit_s: float) -> None:
        """Let threads go on until that holds. Raises Violation if they are stuck, or too late."""
        end = self.now + limit_s
        while not until():
            if self.now > end or self.switches > _MOST_SWITCHES:
                raise Violation(f"not over after {limit_s:g} s and {self.switches} switches")
            while self._events and self._events[0][0] <= self.now:
                heapq.heappop(self._events)[2]()
            ready = [
                each
                for each in self._threads
                if not each.process.is_stopped
                and (each.until <= self.now or each.is_signalled or each.ready())
            ]
            if ready:
                self.switches += 1
                self._switch_to(ready[self.rng.randrange(len(ready))] if ready[1:] else ready[0])
                continue
            first = min(
                (each.until for each in self._threads if not each.process.is_stopped),
                default=math.inf,
            )
            if self._events:
                first = min(first, self._events[0][0])
            if first == math.inf:
                raise Violation("everybody waits for ever")
            self.now = first

    def close(self) -> None:
        """Let all threads go: what they do from now on has no effect."""
        self.is_over = True
        logging.disable(logging.CRITICAL)
        for thread in [*self._threads, *self._ended]:
            with suppress(BaseException):
                thread.stack.throw(GreenletExit)
        logging.disable(logging.NOTSET)
        self._threads, self._ended = [], []

    def waiting(self) -> Iterable[str]:
        """A line for each thread that waits, and where."""
        for thread in self._threads:
            frame = thread.stack.gr_frame
            own = [
                f"{each.name} of {each.filename.rpartition('/')[2]}:{each.lineno}"
                for each in traceback.extract_stack(frame)
                if "simulator" not in each.filename and "/lib/python" not in each.filename
            ]
            yield f"{thread.process.name} waits: {' < '.join(reversed(own[-3:]))}"

    @property
    def processes(self) -> list[Process]:
        """Those that have not ended."""
        return [each for each in self._processes if each.is_alive]

    # For the virtual modules: called by simulated threads.

    @property
    def current(self) -> Thread | None:
        """The thread that goes on now; None outside of threads."""
        return self._current

    def own(self, kind: Callable[[], T]) -> T:
        """The run's own object of that kind, made when it is first asked for."""
        if kind not in self._own:
            self._own[kind] = kind()
        found: T = self._own[kind]
        return found

    def tick(self) -> float:
        """The time, after a moment has passed."""
        self.now += _TICK_S
        return self.now

    def start(self, function: Callable[[], object], process: Process | None = None) -> Thread:
        """Start a thread, of the current process by default."""
        if process is None:
            assert self._current is not None, "a thread needs a process"
            process = self._current.process

        def run() -> None:
            try:
                function()
            except GreenletExit:
                return
            self._threads.remove(thread)
            thread.on_end()

        thread = Thread(next(_idents), process, greenlet(run, parent=self._top))
        if process.is_alive:
            self._threads.append(thread)
        return thread

    def wait(self, ready: Callable[[], bool], until: float = math.inf) -> None:
        """Let others go on until `ready`, or until that time.

        A signal wakes a process's first thread. Raises what the signal's handler raises.
        """
        thread = self._current
        if self.is_over or thread is None:
            raise GreenletExit
        while True:
            thread.stack, thread.ready, thread.until = getcurrent(), ready, until
            self._top.switch()
            if self.is_over:
                raise GreenletExit
            if not thread.is_signalled:
                return
            thread.hear_signals()
            if self.now >= until or ready():
                return

    def make_way(self, took_s: float = _WORK_S) -> None:
        """Let others go on now and then, and what is due happen: a while has passed."""
        if self._current is None or self.is_over:
            return
        self._current.hear_signals()
        self.now += self.rng.uniform(0.0, took_s)
        is_due = bool(self._events) and self._events[0][0] <= self.now
        if is_due or self.rng.random() < _SWITCH:
            self.wait(lambda: True)

    def _switch_to(self, thread: Thread) -> None:
        thread.until = math.inf
        self._current = thread
        try:
            thread.stack.switch()
        finally:
            self._current = None


class _Now:
    scheduler: Scheduler | None = None


_now = _Now()


@contextmanager
def simulated(run: Scheduler) -> Iterator[Scheduler]:
    """Within the block the virtual modules belong to this run, which is closed then."""
    before, _now.scheduler = _now.scheduler, run
    try:
        yield run
    finally:
        run.close()
        _now.scheduler = before


def running() -> Scheduler | None:
    """The scheduler of the run that is simulated now."""
    return _now.scheduler
