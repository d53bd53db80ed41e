"""Environments that are made here: in this process, or in workers."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from env_adapters import SuiteName
from glue_server import LocalPool, Pool, WorkerPool
from glue_server.timeouts import Timeouts
from reglue.messages.environment import Play, Played
from reglue.spec import TaskSpec


def make_pool(
    suite: SuiteName,
    slots: int,
    *,
    workers: int | None,
    log_file: Path | None = None,
    timeout_s: float = Timeouts.environment_s,
) -> Pool:
    """`workers` processes, one a core by default; 0 keeps the environments in this one.

    A worker that takes longer than `timeout_s` for an answer is replaced; an environment in
    this process is waited for without end.
    """
    chosen = cores() if workers is None else workers
    if chosen == 0:
        return LocalPool(suite.build(), slots)
    return WorkerPool(suite, slots, workers=chosen, log_file=log_file, timeout_s=timeout_s)


def cores() -> int:
    """How many processes may run at once here."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


class LentPool:
    """A pool that outlives a run, which sees only what is its own."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool
        self._before = pool.executed

    @property
    def spec(self) -> TaskSpec:
        """The pool's."""
        return self._pool.spec

    @property
    def executed(self) -> int:
        """Steps since it was lent."""
        return self._pool.executed - self._before

    def send(self, play: Play) -> None:
        """Hand it on."""
        self._pool.send(play)

    def receive(self) -> Played:
        """The pool's answer."""
        return self._pool.receive()

    def filenos(self) -> Sequence[int]:
        """The pool's."""
        return self._pool.filenos()

    def is_ready(self) -> bool:
        """As the pool is."""
        return self._pool.is_ready()

    def close(self) -> None:
        """Whose it is closes it."""
