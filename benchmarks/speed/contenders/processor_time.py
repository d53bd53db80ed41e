"""Processor time of this process, of its children that have ended, and of others that have not."""

from __future__ import annotations

import resource
import time


def processor_s(*pids: int) -> float:
    """Seconds so far, of all threads; `pids` are processes that still run."""
    ended = resource.getrusage(resource.RUSAGE_CHILDREN)
    running = sum(time.clock_gettime((~pid << 3) | 2) for pid in pids)  # Linux: their clocks
    return time.process_time() + ended.ru_utime + ended.ru_stime + running
