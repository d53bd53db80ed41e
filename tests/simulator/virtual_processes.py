"""Processes as Python's modules of a simulated run."""

from __future__ import annotations

import errno
import math
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Sequence
from types import ModuleType, SimpleNamespace
from typing import Any

from tests.simulator.scheduler import Process, running
from tests.simulator.virtual_files import Disk, SharedMemory
from tests.simulator.virtual_sockets import hand_over
from tests.simulator.virtual_threads import like, scheduler

Main = Callable[[], object]

mains: dict[str, Main] = {}
"""The functions that simulated processes carry out, by the names of their modules."""


class Popen(subprocess.Popen[bytes]):
    """A simulated process: `python -P -m MODULE …`."""

    def __init__(self, args: Sequence[str], *, pass_fds: Sequence[int] = (), **_: object) -> None:
        at = list(args).index("-m") + 1
        module, argv = args[at], [args[at], *args[at + 1 :]]
        now = scheduler()
        parent = now.current.process if now.current else None

        def main() -> None:
            sys.argv = [*argv]
            mains[module]()

        self.process = now.process(f"{module.rpartition('.')[2]}", main)
        self.pid = self.process.pid
        for descriptor in pass_fds:
            hand_over(descriptor, parent, self.process)

    def poll(self) -> int | None:
        return self.process.exit_code

    def wait(self, timeout: float | None = None) -> int:
        now = scheduler()
        until = math.inf if timeout is None else now.now + timeout
        if self.process.is_alive:
            now.wait(lambda: not self.process.is_alive, until)
        if self.process.exit_code is None:
            raise subprocess.TimeoutExpired("a simulated process", timeout or 0.0)
        return self.process.exit_code

    def kill(self) -> None:
        scheduler().end_process(self.process, -9)

    def __del__(self, *_: object) -> None:
        pass


def subprocess_module() -> ModuleType:
    """`subprocess`, with Popen alone."""
    return like(subprocess, Popen=Popen)


def _exit(code: int) -> None:
    now = scheduler()
    assert now.current is not None, "a thread exits"
    now.end_process(now.current.process, code)


def _getpid() -> int:
    now = running()
    return now.current.process.pid if now and now.current else os.getpid()


def _getppid() -> int:
    now = scheduler()
    parent = now.current.process.parent if now.current else None
    return parent.pid if parent and parent.is_alive else 1


def _open(path: Any, flags: int, mode: int = 0o777, **options: Any) -> int:
    now = running()
    if now and flags & os.O_CREAT and now.own(Disk).is_full:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), path)
    return os.open(path, flags, mode, **options)


def _memfd_create(name: str, flags: int = 0) -> int:
    return scheduler().own(SharedMemory).add()


def _fstat(descriptor: int) -> Any:
    now = running()
    if now and (memory := now.own(SharedMemory).get(descriptor)) is not None:
        return SimpleNamespace(st_size=len(memory))
    return os.fstat(descriptor)


def _ftruncate(descriptor: int, size: int) -> None:
    memory = scheduler().own(SharedMemory)[descriptor]
    memory.extend(bytes(size - len(memory)))


def _close(descriptor: int) -> None:
    now = running()
    if now is None or descriptor not in now.own(SharedMemory):  # which goes with its run
        os.close(descriptor)


def os_module() -> ModuleType:
    """`os`, with one core, a disk that may be full, and the simulated process's end."""
    return like(
        os,
        _exit=_exit,
        getpid=_getpid,
        getppid=_getppid,
        open=_open,
        close=_close,
        fstat=_fstat,
        ftruncate=_ftruncate,
        memfd_create=_memfd_create,
        sched_getaffinity=lambda _: {0},
        sched_setscheduler=lambda *_: None,
        sched_yield=lambda: None,
    )


class _Handlers(dict[int, Any]):
    """The handlers of a process, by signal."""

    @classmethod
    def of(cls, process: Process) -> _Handlers:
        return process.state.setdefault(cls, cls({signal.SIGINT: signal.default_int_handler}))  # type: ignore[return-value]


def send_signal(process: Process, number: signal.Signals) -> None:
    """Have its first thread call the handler of a signal, where it waits or takes a lock."""
    now = scheduler()

    def hear() -> None:
        handler = _Handlers.of(process).get(number, signal.SIG_DFL)
        if callable(handler):
            handler(number, sys._getframe())
        elif handler is signal.SIG_DFL:
            now.end_process(process, -number)

    if process.is_alive:
        now.say(f"{process.name} gets {number.name}")
        process.signals.append(hear)


def _getsignal(number: int) -> Any:
    now = running()
    if now is None or now.current is None:
        return signal.SIG_DFL
    return _Handlers.of(now.current.process).get(number, signal.SIG_DFL)


def _signal(number: int, handler: Any) -> Any:
    now, before = running(), _getsignal(number)
    if now and now.current:
        process = now.current.process
        if now.current is not process.main:
            raise ValueError("signal only works in main thread of the main interpreter")
        _Handlers.of(process)[number] = handler
    return before


def signal_module() -> ModuleType:
    """`signal`, with handlers for each simulated process."""
    return like(signal, signal=_signal, getsignal=_getsignal)


def die_with(parent: int, sent: signal.Signals = signal.SIGKILL) -> None:
    """`children.die_with`: a process gets `sent` once its parent has ended."""
    now = scheduler()
    assert now.current is not None, "a process calls it"
    child = now.current.process
    if parent == 0 or child.parent is None:
        return
    let = now.go_on if sent == signal.SIGCONT else lambda each: now.end_process(each, -sent)
    child.parent.at_end.append(lambda: let(child) if child.is_alive else None)


class PerProcess:
    """A module's own state, of which each simulated process has one."""

    def __init__(self, make: Callable[[], object]) -> None:
        vars(self).update(_make=make, _outside=make())

    def _mine(self) -> object:
        now = running()
        process = now.current.process if now and now.current else None
        if process is None:
            return self._outside
        if self not in process.state:
            process.state[self] = self._make()
        return process.state[self]

    def __getattr__(self, name: str) -> Any:
        return getattr(self._mine(), name)

    def __setattr__(self, name: str, value: object) -> None:
        setattr(self._mine(), name, value)
