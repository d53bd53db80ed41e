"""In which order the units of a multi-task plan are taken: it changes no row."""

from __future__ import annotations

import hashlib
from collections import deque
from collections.abc import Callable, Iterable
from typing import Protocol

from glue_server import Outcome
from reglue_bench.procedures.procedure import Todo


class Queue(Protocol):
    """What is left to be played."""

    def take(self, slot: int) -> Todo | None:
        """What the slot plays next; None if nothing is left."""

    def put_back(self, todo: Todo) -> None:
        """A unit that an environment spoiled is next."""

    def tell(self, outcome: Outcome) -> None:
        """An episode is over."""


class Shuffled:
    """Where the agent must not know which task it plays: the order tells nothing.

    `secret_of` gives each unit a number that nobody can guess, its start seed say.
    """

    def __init__(self, todo: Iterable[Todo], secret_of: Callable[[Todo], int]) -> None:
        def key(each: Todo) -> bytes:
            return hashlib.sha256(secret_of(each).to_bytes(8, "little")).digest()

        self._left = deque(sorted(todo, key=key))

    def take(self, slot: int) -> Todo | None:
        """The next one, whatever the slot."""
        return self._left.popleft() if self._left else None

    def put_back(self, todo: Todo) -> None:
        """In front."""
        self._left.appendleft(todo)

    def tell(self, outcome: Outcome) -> None:
        """It does not matter."""


class ByTask:
    """Where tasks are public: each slot has its own, and helps where most is left.

    Slot s of S has tasks s, s + S, … of T, or task s mod T where slots are more, so that
    workers need few simulators and a part of a run says something of each task. A slot
    that has played its own goes on with the task that has most steps left, as expected
    from its episodes so far.
    """

    def __init__(self, todo: Iterable[Todo], *, tasks: int, slots: int) -> None:
        self._tasks = tasks
        self._left: list[deque[Todo]] = [deque() for _ in range(tasks)]
        for each in todo:
            self._left[each.unit % tasks].append(each)
        self._own = [
            deque(range(slot, tasks, slots) if slots < tasks else [slot % tasks])
            for slot in range(slots)
        ]
        self._steps = [0] * tasks  # of the episodes so far
        self._episodes = [0] * tasks

    def take(self, slot: int) -> Todo | None:
        """One of its own tasks, in turn; else of the one that takes longest."""
        own = self._own[slot]
        for _ in range(len(own)):
            own.rotate(-1)
            if self._left[own[-1]]:
                return self._left[own[-1]].popleft()
        left = [task for task in range(self._tasks) if self._left[task]]
        return self._left[max(left, key=self._expected)].popleft() if left else None

    def put_back(self, todo: Todo) -> None:
        """In front of its task's."""
        self._left[todo.unit % self._tasks].appendleft(todo)

    def tell(self, outcome: Outcome) -> None:
        """How long its task's episodes are."""
        task = outcome.order.unit % self._tasks
        self._steps[task] += outcome.steps
        self._episodes[task] += 1

    def _expected(self, task: int) -> float:
        """Steps that are left of a task; of one that nobody has played, a guess of one each."""
        return len(self._left[task]) * self._steps[task] / max(1, self._episodes[task]) + len(
            self._left[task]
        )
