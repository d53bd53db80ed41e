"""Many tasks on one thread: where one waits, the others go on.

Sessions wait often and shortly. As many threads as sessions fight for the interpreter's lock, which
costs more than all that they do.
"""

from __future__ import annotations

import contextlib
import logging
import math
import select
import socket
import threading
import time
from collections import deque
from collections.abc import Callable

from greenlet import getcurrent, greenlet

from glue_server.processes.interrupts import next_look_s
from reglue.net.adaptive_spin import AdaptiveSpin

log = logging.getLogger("reglue")


class _Here(threading.local):
    loop: EventLoop | None = None  # the one whose thread this is


_here = _Here()


class Task:
    """A function that a loop carries out on a stack of its own."""

    def __init__(self, loop: EventLoop, function: Callable[[], None]) -> None:
        self.stack: greenlet | None = None  # once it has begun
        self._function = function
        self._loop = loop
        self._is_over = threading.Event()

    @property
    def is_alive(self) -> bool:
        """Whether it has not ended."""
        return not self._is_over.is_set()

    def join(self, within_s: float | None = None) -> None:
        """Wait until it has ended; called by another thread."""
        self._is_over.wait(within_s)

    def wake(self) -> None:
        """Let it look at what it waits for; called by any thread."""
        self._loop._wake(self)

    def go_on(self) -> bool:
        """Let it run until it waits, or ends; whether it has ended. Called by its loop."""
        if self.stack is None:
            self.stack = greenlet(self._function)  # of the loop's thread, not of who began it
        try:
            self.stack.switch()
        except Exception:
            log.exception("a task failed")
        if self.stack.dead:
            self._is_over.set()
        return self.stack.dead


class EventLoop:
    """Carries out tasks on a thread of its own, which ends once it is closed and they are over."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._thread: threading.Thread | None = None  # from the first task on
        self._left = 0  # tasks that are not over
        self._is_closed = False
        self._woken: deque[Task] = deque()
        self._lock = threading.Lock()
        self._waiting: dict[Task, tuple[int | None, float]] = {}  # for what, and until when
        self._of_descriptor: dict[int, Task] = {}
        self._earliest = math.inf  # no wait is over before, monotonic seconds
        self._poll, self._spin = select.poll(), AdaptiveSpin()

    @staticmethod
    def current() -> EventLoop | None:
        """The loop whose task this is; None outside of tasks."""
        return _here.loop

    def begin(self, function: Callable[[], None]) -> Task:
        """Carry out a function as a task; called by any thread."""
        task = Task(self, function)
        with self._lock:
            self._left += 1
            self._woken.append(task)
            if self._thread is None:
                self._wake_receiver, self._wake_sender = socket.socketpair()
                for end in (self._wake_receiver, self._wake_sender):
                    end.setblocking(False)
                self._poll.register(self._wake_receiver, select.POLLIN)
                self._thread = threading.Thread(target=self._run, name=self._name, daemon=True)
                self._thread.start()
        self._interrupt_poll()
        return task

    def close(self, within_s: float) -> None:
        """Let the thread end with the last task, which is waited for."""
        with self._lock:
            self._is_closed, thread = True, self._thread
        if thread is not None:
            self._interrupt_poll()
            thread.join(within_s)

    # Within tasks.

    @property
    def task(self) -> Task:
        """The present one."""
        return self._task

    @property
    def is_alone(self) -> bool:
        """Whether there is no other task that could go on."""
        return self._left == 1

    def wait(self, until: float, descriptor: int | None = None) -> None:
        """Let others go on until the descriptor is readable, this is woken, or time is up.

        `until` is in monotonic seconds. It may return early.
        """
        task = self._task
        assert task.stack is getcurrent(), "a task waits for itself"
        self._waiting[task] = descriptor, until
        self._earliest = min(self._earliest, until)
        if descriptor is not None:
            self._of_descriptor[descriptor] = task
            self._poll.register(descriptor, select.POLLIN)
        self._stack.switch()

    def sleep(self, seconds: float) -> None:
        """Let others go on for that time."""
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            self.wait(until)

    # The loop's own thread.

    def _run(self) -> None:
        _here.loop = self
        self._stack = getcurrent()
        while self._goes_on():
            for descriptor in self._ready():
                task = self._of_descriptor.get(descriptor)
                if task is not None:
                    self._let(task)
            while self._woken:
                self._let(self._woken.popleft())

    def _goes_on(self) -> bool:
        """Whether there is something to do; lets all go if not."""
        with self._lock:
            if self._left or not self._is_closed:
                return True
            self._thread = None
            self._poll.unregister(self._wake_receiver)
            self._wake_receiver.close()
            self._wake_sender.close()
            return False

    def _ready(self) -> list[int]:
        """Descriptors of which one or more can be read, or tasks that wait no longer."""
        found = self._spin.spin(self._poll) if self._spin.pays() else []
        now = time.monotonic()
        if now >= self._earliest:
            self._woken.extend(task for task, (_, until) in self._waiting.items() if now >= until)
            self._earliest = min((until for _, until in self._waiting.values()), default=math.inf)
        if not found:
            left_s = 0.0 if self._woken else max(0.0, self._earliest - now)
            found = self._poll.poll(None if left_s == math.inf else math.ceil(1000 * left_s))
        ready = [descriptor for descriptor, _ in found]
        if self._wake_receiver.fileno() in ready:
            with contextlib.suppress(BlockingIOError):
                self._wake_receiver.recv(4096)
        return ready

    def _let(self, task: Task) -> None:
        """Let a task go on that waits no more, or begins."""
        if not task.is_alive:
            return
        descriptor, _ = self._waiting.pop(task, (None, 0.0))
        if descriptor is not None:
            self._poll.unregister(descriptor)
            del self._of_descriptor[descriptor]
        self._task = task
        if task.go_on():
            with self._lock:
                self._left -= 1

    def _wake(self, task: Task) -> None:
        self._woken.append(task)
        self._interrupt_poll()

    def _interrupt_poll(self) -> None:
        with contextlib.suppress(OSError):  # it is readable already, or all is over
            self._wake_sender.send(b"!")


def sleep(seconds: float) -> None:
    """Sleep; in a task, let others go on meanwhile. Raises KeyboardInterrupt: see check_stop."""
    if (loop := EventLoop.current()) is not None:
        loop.sleep(seconds)
        return
    until = time.monotonic() + seconds
    while (left_s := until - time.monotonic()) > 0:
        time.sleep(next_look_s(left_s))
