"""The workers of one environment: started, asked for env_init, replaced and ended."""

from __future__ import annotations

import logging
import os
import tempfile
from collections.abc import Callable
from typing import TypeVar

from glue_server.environment.worker_process import Worker, end_at_once
from glue_server.processes.child import end_together
from glue_server.processes.interrupts import hurried
from glue_server.processes.readable import readable
from reglue.errors import EnvironmentFault, UsageError
from reglue.messages.environment_messages import EnvironmentReady, Slots

log = logging.getLogger("reglue")

MAX_STARTS = 3
"""The most starts of a worker that does not come up."""

_LEAVE_S = 2.0  # how long workers may take to close their environments

_Slot = TypeVar("_Slot", int, Slots)


class WorkerPool:
    """At most `most` workers, each the home of as many slots. `start` begins one.

    To build its suite a worker may take `start_s` seconds.
    """

    def __init__(self, start: Callable[[], Worker], *, most: int, start_s: float) -> None:
        self.workers: list[Worker] = []
        self._start = start
        self._most = most
        self._start_s = start_s
        self._slots = 0
        self._memory = -1  # the descriptor of what they share

    def init(self, slots: int) -> None:
        """Ask workers for env_init; those that are up keep what they have built."""
        self._slots = slots
        count = min(self._most, slots)
        for worker in self.workers[count:]:
            end_at_once(worker)
        self.workers = self.workers[:count]
        for worker in self.workers:
            worker.init(slots)
        try:
            while len(self.workers) < count:
                self.workers.append(self._started())
        except BaseException:
            self.end()
            raise

    def ready(self) -> EnvironmentReady:
        """The answer to env_init, once all have started. Raises UsageError, EnvironmentFault."""
        ready, *_ = [self._built(place) for place in range(len(self.workers))]
        return ready

    def new_memory(self) -> int:
        """The descriptor of the memory that they will share."""
        self._free()
        self._memory = new_memory()
        return self._memory

    def share(self) -> None:
        """Hand the memory over to all."""
        for worker in self.workers:
            worker.share(self._memory)

    def home(self, slot: _Slot) -> _Slot:
        """The worker in which a slot lives, or each of some slots.

        Of two workers 0 1 1 0 0 1 1 0 …: if every tenth slot plays the same task, tasks that
        take long are shared by all workers.
        """
        count = len(self.workers)
        return (slot + slot // count) % count

    def slots_of(self, place: int) -> set[int]:
        """The slots that live in a worker."""
        return {slot for slot in range(self._slots) if self.home(slot) == place}

    def renew(self, place: int, *, at_once: bool) -> None:
        """Replace a worker, which may close its environments first unless it ends `at_once`.

        Raises EnvironmentFault.
        """
        before = self.workers[place]
        before.leave()
        before.end(0.0 if at_once else hurried(_LEAVE_S))
        self.workers[place] = self._started()
        try:
            self._built(place)
        except UsageError as error:  # it could be built before: nobody asked for anything wrong
            raise EnvironmentFault(f"a worker cannot be replaced: {error}") from error
        self.workers[place].share(self._memory)

    def is_built(self) -> bool:
        """Whether `ready` need not wait: each worker has answered `init`, or is gone."""
        numbers = [number for worker in self.workers for number in worker.filenos()]
        ready = {*readable(numbers, 0.0)}
        return not any(ready.isdisjoint(worker.filenos()) for worker in self.workers)

    def end(self, *, at_once: bool = False) -> None:
        """End all: they leave when their channel closes."""
        for worker in self.workers:  # all, before any is waited for: they close at the same time
            worker.leave()
        end_together(self.workers, within_s=0.0 if at_once else hurried(_LEAVE_S))
        self.workers = []
        self._free()

    def _started(self) -> Worker:
        worker = self._start()
        # They have shared memory once all have been ready.
        worker.init(self._slots, is_replacement=self._memory >= 0)
        return worker

    def _built(self, place: int) -> EnvironmentReady:
        """A worker's answer to env_init; a worker that dies or hangs before is started again."""
        for left in reversed(range(MAX_STARTS)):
            try:
                return self.workers[place].ready(self._start_s)
            except EnvironmentFault as fault:
                if not left:
                    raise
                log.warning("%s; another one is started", fault)
                end_at_once(self.workers[place])
                self.workers[place] = self._started()
        raise AssertionError

    def _free(self) -> None:
        if self._memory >= 0:
            os.close(self._memory)
            self._memory = -1


def new_memory() -> int:
    """A descriptor of memory that is gone when its last process is."""
    if hasattr(os, "memfd_create"):
        return os.memfd_create("reglue-slots")
    with tempfile.TemporaryFile() as file:
        return os.dup(file.fileno())
