"""Processes that are started again when they have ended, as their people would."""

from __future__ import annotations

import time
from collections.abc import Callable

from tests.simulator.scheduler import Process, Scheduler

_PAUSE_S = (0.1, 2.0)  # before the next start, from … to …


def keep_starting(
    run: Scheduler,
    name: str,
    main: Callable[[], object],
    *,
    until: Callable[[], bool],
    first_within_s: float = 0.0,
    at_end: Callable[[Process], object] = lambda _: None,
) -> None:
    """Start a process of that name within so many seconds, and again until `until` holds.

    `at_end` is called with each of them once it has ended.
    """

    def keep() -> None:
        time.sleep(run.rng.uniform(0.0, first_within_s))
        while not until():
            process = run.process(name, main)
            run.wait(process.has_ended)
            at_end(process)
            time.sleep(run.rng.uniform(*_PAUSE_S))

    run.process(f"{name}'s shell", keep)
