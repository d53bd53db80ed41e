"""Threads, time and chance as Python's modules of a simulated run.

Python's own `threading`, `queue` and `concurrent.futures` are built upon `_thread` and `time`: they
are loaded anew with these, and behave as ever.
"""

from __future__ import annotations

import _thread
import datetime
import math
import random
import secrets
import sys
import time
import traceback
from collections.abc import Callable
from types import ModuleType
from typing import Any

from tests.simulator.scheduler import Process, Scheduler, running

_EPOCH = 1_800_000_000.0  # time.time() at monotonic second 0


def scheduler() -> Scheduler:
    """That of the run that is simulated now."""
    found = running()
    assert found is not None, "a simulated run is under way"
    return found


def like(module: ModuleType, **own: object) -> ModuleType:
    """A module with the names of another one, some of them replaced."""
    found = ModuleType(module.__name__)
    vars(found).update(
        {
            name: value
            for name, value in vars(module).items()
            if not name.startswith("__") or name == "__file__"
        }
    )
    vars(found).update(own)
    return found


class Lock:
    """A lock, as of `_thread`. Each process has its own, also where a module keeps it."""

    def __init__(self) -> None:
        self._held_in: set[Process | None] = set()

    def acquire(self, blocking: bool = True, timeout: float = -1) -> bool:
        """Take it. Returns whether that worked."""
        now, here = running(), _here()
        if now is not None and blocking:
            now.make_way()
            if here in self._held_in:
                until = now.now + timeout if timeout >= 0 else math.inf
                now.wait(lambda: here not in self._held_in, until)
        if here in self._held_in:
            return False
        self._held_in.add(here)
        return True

    def release(self) -> None:
        """Let another thread have it."""
        if not self.locked():
            raise RuntimeError("release unlocked lock")
        self._held_in.remove(_here())

    def locked(self) -> bool:
        """Whether a thread has it."""
        return _here() in self._held_in

    def _at_fork_reinit(self) -> None:
        self._held_in.discard(_here())

    def __enter__(self) -> bool:
        return self.acquire()

    def __exit__(self, *_: object) -> None:
        self.release()


def _here() -> Process | None:
    now = running()
    return now.current.process if now and now.current else None


def main_thread() -> object:
    """`threading.main_thread` of the present process; None until that thread is registered."""
    now, threading = running(), _threading()
    if now is None or now.current is None:
        return threading._main_thread
    main = now.current.process.main
    assert main is not None, "it has begun"
    return threading._active.get(main.ident)


def _threading() -> Any:
    """The module that was loaded anew."""
    return sys.modules["threading"]


def _start_new_thread(function: Callable[..., object], args: tuple[Any, ...]) -> int:
    return scheduler().start(lambda: function(*args)).ident


def _get_ident() -> int:
    now = running()
    return now.current.ident if now and now.current else 0


def _set_sentinel() -> Lock:
    """A lock that is released when the present thread ends."""
    lock = Lock()
    now = running()
    if now and now.current:
        now.current.on_end = lock._at_fork_reinit
    return lock


def _excepthook(failed: Any) -> None:
    if scheduler().is_over:
        return
    error = traceback.format_exception(failed.exc_type, failed.exc_value, failed.exc_traceback)
    scheduler().violate(f"a thread failed: {''.join(error)}")


def thread_module() -> ModuleType:
    """`_thread`, without its RLock and local, of which there are versions in Python."""
    module = like(
        _thread,
        allocate_lock=Lock,
        LockType=Lock,
        start_new_thread=_start_new_thread,
        get_ident=_get_ident,
        get_native_id=_get_ident,
        _set_sentinel=_set_sentinel,
        _excepthook=_excepthook,
    )
    del module.RLock, module._local
    return module


# Time and chance.


class WallClock:
    """The error of `time.time` in seconds: it may jump, unlike the other clocks."""

    off_s = 0.0


def _monotonic() -> float:
    now = running()
    return now.tick() if now else 0.0


def _sleep(seconds: float) -> None:
    now = scheduler()
    until = now.now + seconds
    now.wait(lambda: False, until)


def _time() -> float:
    now = running()
    return _EPOCH + _monotonic() + (now.own(WallClock).off_s if now else 0.0)


def time_module() -> ModuleType:
    """`time`; processor time is the machine's."""
    return like(
        time,
        monotonic=_monotonic,
        perf_counter=_monotonic,
        time=_time,
        monotonic_ns=lambda: round(1e9 * _monotonic()),
        perf_counter_ns=lambda: round(1e9 * _monotonic()),
        time_ns=lambda: round(1e9 * _time()),
        sleep=_sleep,
    )


class _Dates(type):
    def __instancecheck__(cls, value: object) -> bool:
        return isinstance(value, datetime.datetime)


class Datetime(datetime.datetime, metaclass=_Dates):
    """`datetime.datetime`, whose `now` is the simulated run's."""

    @classmethod
    def now(cls, tz: datetime.tzinfo | None = None) -> Any:
        return datetime.datetime.fromtimestamp(_time(), tz)


def put_datetime_into(package: str) -> None:
    """Give the imported modules of a package a `datetime` whose `now` is the simulated run's.

    Libraries in C and Rust check for Python's own class, so that no module can replace that.
    """
    for name, module in [*sys.modules.items()]:
        if (
            name.partition(".")[0] == package
            and getattr(module, "datetime", 0) is datetime.datetime
        ):
            vars(module)["datetime"] = Datetime


_before = random.Random(0)  # for what draws while it is imported


def _chance() -> random.Random:
    now = running()
    return now.rng if now else _before


def _token_bytes(nbytes: int | None = None) -> bytes:
    return _chance().randbytes(32 if nbytes is None else nbytes)


def secrets_module() -> ModuleType:
    """`secrets`, drawn from the seed."""
    return like(
        secrets,
        token_bytes=_token_bytes,
        token_hex=lambda nbytes=None: _token_bytes(nbytes).hex(),
        token_urlsafe=lambda nbytes=None: _token_bytes(nbytes).hex(),
        randbits=lambda k: _chance().getrandbits(k),
        randbelow=lambda n: _chance().randrange(n),
    )
