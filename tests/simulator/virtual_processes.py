"""Processes as Python's modules of a simulated run."""

from __future__ import annotations

import math
import os
import signal
import subprocess
from collections.abc import Callable, Sequence
from types import ModuleType
from typing import Any

from tests.simulator.scheduler import running
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
            import sys

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


def os_module() -> ModuleType:
    """`os`, with one core and the simulated process's end."""
    return like(
        os,
        _exit=_exit,
        getpid=_getpid,
        getppid=_getppid,
        sched_getaffinity=lambda _: {0},
        sched_yield=lambda: None,
    )


def signal_module() -> ModuleType:
    """`signal`, without handlers: nobody sends signals that a process could hear."""
    return like(signal, signal=lambda _, __: signal.SIG_DFL)


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
