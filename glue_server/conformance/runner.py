"""Runs checks, several at once if there are several stages."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from fnmatch import fnmatchcase
from queue import SimpleQueue

from glue_server.conformance.check import Check, Level, Verdict, is_of_level
from glue_server.conformance.checks import CHECKS
from glue_server.conformance.harness import Harness
from reglue.errors import ReglueError, UsageError

log = logging.getLogger("reglue")

_LOOK_UP_S = 0.5  # Python may miss a Ctrl-C that comes just before it waits: not for longer


def checks_of(role: str, only: str = "*", level: Level = "all") -> list[Check]:
    """The checks of a role and level whose names match. Raises UsageError if none does."""
    of_level = [check for check in CHECKS[role] if is_of_level(check.name, level)]
    found = [check for check in of_level if fnmatchcase(check.name, only)]
    if not found:
        names = ", ".join(check.name for check in of_level)
        raise UsageError(f"no check is called {only!r}; there are {names}")
    return found


def run_checks(
    checks: Sequence[Check], stages: Sequence[Harness], tell: Callable[[Verdict], None]
) -> list[Verdict]:
    """What became of each; `tell` hears of them in their order, as they are known.

    Raises UsageError if no client can be started.
    """
    idle: SimpleQueue[Harness] = SimpleQueue()
    for stage in stages:
        idle.put(stage)
    verdicts = []
    with ThreadPoolExecutor(len(stages), thread_name_prefix="conformance") as threads:
        try:
            for future in [threads.submit(_run, check, idle) for check in checks]:
                while not wait([future], timeout=_LOOK_UP_S).done:
                    pass
                verdicts.append(future.result())
                tell(verdicts[-1])
        except BaseException:  # Ctrl-C too: nobody is to wait for clients
            threads.shutdown(wait=False, cancel_futures=True)
            for stage in stages:
                stage.abort()
            raise
        finally:
            threads.shutdown()
            for stage in stages:
                stage.dismiss()
    return verdicts


def _run(check: Check, idle: SimpleQueue[Harness]) -> Verdict:
    """On a stage that is free."""
    stage = idle.get()
    began = time.monotonic()
    try:
        detail = _failure(check, stage)
    finally:
        idle.put(stage)
    return Verdict(check.name, check.wanted, not detail, detail, time.monotonic() - began)


def _failure(check: Check, stage: Harness) -> str:
    """What went wrong, and the end of what the client printed if it has left; or nothing."""
    try:
        check.run(stage)
    except UsageError:
        raise
    except ReglueError as error:
        detail = f"{type(error).__name__}: {error}"
    except Exception as error:  # a client may answer what nobody foresaw
        log.exception("%s", check.name)
        detail = f"{type(error).__name__}: {error}"
    else:
        return ""
    words = stage.last_words()
    stage.dismiss()
    return "\n".join(filter(None, (detail, words)))
