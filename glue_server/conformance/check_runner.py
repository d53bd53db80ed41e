"""Runs checks, as many at once as there are harnesses."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from fnmatch import fnmatchcase
from queue import SimpleQueue

from glue_server.conformance.check import Check, Level, Skipped, Verdict, is_of_level
from glue_server.conformance.checks import CHECKS
from glue_server.conformance.harness import Harness
from glue_server.processes.interrupts import uninterrupted
from reglue.errors import ReglueError, UnknownName, UsageError

log = logging.getLogger("reglue")

_LOOK_UP_S = 0.5  # limits how long Python may miss a Ctrl-C that comes just before a wait


def checks_of(role: str, only: str = "*", level: Level = "all") -> list[Check]:
    """The checks of a role and level whose names match one of `only`, between commas.

    Raises UnknownName if there are none.
    """
    of_level = [check for check in CHECKS[role] if is_of_level(check.name, role, level)]
    globs = only.split(",")
    chosen = [check for check in of_level if any(fnmatchcase(check.name, each) for each in globs)]
    if not chosen:
        groups = {f"{check.name.partition('.')[0]}.*" for check in of_level}
        raise UnknownName("check", only, groups)
    return chosen


def run_checks(
    checks: Sequence[Check], harnesses: Sequence[Harness], tell: Callable[[Verdict], None]
) -> list[Verdict]:
    """Run the checks; returns their verdicts. `tell` is called with each, in order.

    Raises UsageError if no client can be started.
    """
    idle: SimpleQueue[Harness] = SimpleQueue()
    for harness in harnesses:
        idle.put(harness)
    verdicts = []
    with ThreadPoolExecutor(len(harnesses), thread_name_prefix="conformance") as threads:
        try:
            with uninterrupted():  # or a thread might be running that `threads` does not know
                futures = [threads.submit(_run, check, idle) for check in checks]
            for future in futures:
                while not wait([future], timeout=_LOOK_UP_S).done:
                    pass
                verdicts.append(future.result())
                tell(verdicts[-1])
        except BaseException:  # Ctrl-C too: end the waits for clients
            threads.shutdown(wait=False, cancel_futures=True)
            for harness in harnesses:
                harness.abort()
            raise
        finally:
            threads.shutdown()
            for harness in harnesses:
                harness.reset()
    return verdicts


def _run(check: Check, idle: SimpleQueue[Harness]) -> Verdict:
    """Run it with the next idle harness."""
    harness = idle.get()
    began = time.monotonic()
    reason = ""
    try:
        detail = _failure(check, harness)
    except Skipped as skipped:
        detail, reason = "", f"skipped: {skipped}"
    finally:
        idle.put(harness)
    return Verdict(
        check.name,
        check.wanted,
        passed=not detail,
        skipped=bool(reason),
        detail=detail or reason,
        duration_s=time.monotonic() - began,
    )


def _failure(check: Check, harness: Harness) -> str:
    """The error, and the end of an exited client's output; empty if the client passed.

    Raises Skipped, UsageError.
    """
    try:
        check.run(harness)
    except (Skipped, UsageError):
        raise
    except ReglueError as error:
        detail = f"{type(error).__name__}: {error}"
    except Exception as error:  # a client may answer anything
        log.exception("%s", check.name)
        detail = f"{type(error).__name__}: {error}"
    else:
        return ""
    words = harness.last_words()
    harness.reset()
    return "\n".join(filter(None, (detail, words)))
