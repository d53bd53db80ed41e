"""The order in which units and trials are played."""

from __future__ import annotations

import hashlib
import hmac
from collections import deque
from collections.abc import Iterable, Sequence
from typing import Protocol

import numpy as np
import numpy.typing as npt

from glue_server import Outcome
from reglue_bench.procedures.procedure import Todo


class Queue(Protocol):
    """The units that are left to play."""

    def take(self, slot: int) -> Todo | None:
        """What the slot plays next; None if nothing is left."""

    def tell(self, outcome: Outcome) -> None:
        """Receives the outcome of an episode."""


def shuffled(numbers: Iterable[int], key: bytes, label: str = "unit") -> npt.NDArray[np.int64]:
    """The places of different numbers, in an order that only the key's holder knows.

    The order of two numbers does not depend on the others. Another `label` gives another order.
    """

    def digest_of(number: int) -> int:
        digest = hmac.digest(key, f"reglue {label} {number}".encode(), hashlib.sha256)
        return int.from_bytes(digest[:8], "big")

    return np.argsort(np.fromiter(map(digest_of, numbers), np.uint64), kind="stable")


class Shuffled:
    """A shuffled order, for agents that must not know their task: it reveals nothing."""

    def __init__(self, todo: Sequence[Todo], key: bytes) -> None:
        places = shuffled((each.unit for each in todo), key)
        self._left = _Line(todo, places.astype(np.uint32))

    def take(self, slot: int) -> Todo | None:
        """The next unit, whatever the slot."""
        return self._left.take() if len(self._left) else None

    def tell(self, outcome: Outcome) -> None:
        """Outcomes do not change this order."""


class ByTask:
    """For agents that know their task: a slot plays its own tasks, then helps with others.

    Slot s of S has tasks s, s + S, … of T, or task s mod T if there are more slots. So workers
    need few simulators, and a partial run has episodes of each task. A slot
    that has played its own goes on with the task that has most steps left, as expected
    from its episodes so far. The episodes of a task follow `key`, or the plan without one.
    """

    def __init__(self, todo: Sequence[Todo], *, tasks: int, slots: int, key: bytes = b"") -> None:
        self._tasks = tasks
        self._count = len(todo)  # that are left
        of = np.fromiter((each.unit % tasks for each in todo), np.uint32, len(todo))
        order = shuffled((each.unit for each in todo), key) if key else np.arange(len(todo))
        self._left = [
            _Line(todo, order[of[order] == task].astype(np.uint32)) for task in range(tasks)
        ]
        self._tasks_of_slot = [
            deque(range(slot, tasks, slots) if slots < tasks else [slot % tasks])
            for slot in range(slots)
        ]
        self._steps = [0] * tasks  # of the episodes so far
        self._episodes = [0] * tasks

    def take(self, slot: int) -> Todo | None:
        """A unit of the slot's own tasks, in turn; else of the task with most steps left."""
        if not self._count:
            return None
        self._count -= 1
        tasks = self._tasks_of_slot[slot]
        for _ in range(len(tasks)):
            tasks.rotate(-1)
            if len(self._left[tasks[-1]]):
                return self._left[tasks[-1]].take()
        left = [task for task in range(self._tasks) if len(self._left[task])]
        return self._left[max(left, key=self._expected)].take()

    def tell(self, outcome: Outcome) -> None:
        """Learns how long the episodes of a task are."""
        task = outcome.order.unit % self._tasks
        self._steps[task] += outcome.steps
        self._episodes[task] += 1

    def _expected(self, task: int) -> float:
        """The steps that a task has left; one for each episode if none was played yet."""
        return len(self._left[task]) * self._steps[task] / max(1, self._episodes[task]) + len(
            self._left[task]
        )


class _Line:
    """Some of `todo`, by their places in it."""

    def __init__(self, todo: Sequence[Todo], places: npt.NDArray[np.uint32]) -> None:
        self._todo = todo
        self._places = places
        self._taken = 0

    def __len__(self) -> int:
        return len(self._places) - self._taken

    def take(self) -> Todo:
        """The first one. It must not be empty."""
        self._taken += 1
        return self._todo[int(self._places[self._taken - 1])]
