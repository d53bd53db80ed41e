"""What an agent trains on: episodes without end, each drawn by its number and a key."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

from reglue_bench.plans.keys import shuffled
from reglue_bench.plans.plan import PlanCell


@dataclass(frozen=True, slots=True)
class TrainingCells:
    """Training episodes: cell n is a pure function of n, whatever was played before.

    Episode j of slot s has the number n = j · slots + s. Every task has its turn once in a round,
    and every variant of a task once before one of them comes again, in an order that the key draws.
    An agent that is shown its task gets them in the plan's order, so that a slot keeps its
    task, and workers need few simulators. A trial's episodes, which follow each other in a slot,
    play one (task, variant).
    """

    variants: Mapping[str, int]  # task -> how many it has
    slots: int
    key: bytes  # of a training seed: see plans.keys
    shows_tasks: bool = False
    trial: int = 1  # episodes of a trial
    first: int = 0  # k of episode 0 in its unit

    def cell(self, n: int) -> PlanCell:
        """Episode n, from 0."""
        episode, slot = divmod(n, self.slots)
        trial, place = divmod(episode, self.trial)
        visit, task = self._task(trial * self.slots + slot)
        name = tuple(self.variants)[task]
        again, at = divmod(visit, self.variants[name])
        label = f"variant of task {task}, pass {again}"
        return PlanCell(
            k=self.first + n,
            task=name,
            variant=_order(self.key, label, self.variants[name])[at],
            repeat=again * self.trial + place,
            phase="train",
            seed_from=(0, n),
        )

    def _task(self, number: int) -> tuple[int, int]:
        """How often the task was played before, and its number."""
        visit, place = divmod(number, len(self.variants))
        if self.shows_tasks:
            return visit, place
        return visit, _order(self.key, f"task of round {visit}", len(self.variants))[place]


@lru_cache(maxsize=256)  # those of the tasks in play
def _order(key: bytes, label: str, count: int) -> tuple[int, ...]:
    """The numbers below `count`, in an order that the key draws."""
    return (0,) if count == 1 else tuple(shuffled(range(count), key, label).tolist())
