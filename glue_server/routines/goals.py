"""The task and variant that each slot plays."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from reglue.errors import OutOfDomain
from reglue.messages.experiment_messages import Goal


class SlotGoals:
    """The goals of S slots since RL_init, which names the first."""

    def __init__(self, first: Goal, variants: Mapping[str, int], slots: int) -> None:
        """`first` is one of the environment's; `variants`: task -> its number of variants."""
        self.variants = variants
        self._goals = [first] * slots
        self._is_new = [True] * slots  # neither played nor chosen since RL_init

    def start(self, slot: int) -> Goal:
        """The goal that the slot plays now."""
        self._is_new[slot] = False
        return self._goals[slot]

    def choose(self, slots: Sequence[int], goal: Goal) -> None:
        """Let them play that from now on. Raises OutOfDomain, with nothing changed."""
        chosen = [Goal(goal.task or self._goals[slot].task, goal.variant) for slot in slots]
        for each in chosen:
            check_goal(each, self.variants)
        for slot, each in zip(slots, chosen, strict=True):
            self._goals[slot], self._is_new[slot] = each, False

    def iterate(self, slots: Sequence[int]) -> None:
        """Let each play the next variant of its task, after the last the first; where nothing was
        played since RL_init the first goal is the next.
        """
        for slot in slots:
            if not self._is_new[slot]:
                task, variant = self._goals[slot].task, self._goals[slot].variant
                self._goals[slot] = Goal(task, (variant + 1) % self.variants[task])
            self._is_new[slot] = False


def first_goal(task: str, variant: int, variants: Mapping[str, int]) -> Goal:
    """The goal that RL_init names; without a task the environment's first. Raises OutOfDomain."""
    goal = Goal(task or next(iter(variants)), variant)
    check_goal(goal, variants)
    return goal


def check_goal(goal: Goal, variants: Mapping[str, int]) -> None:
    """Raise OutOfDomain for a task or variant that the environment has not."""
    if goal.task not in variants:
        raise OutOfDomain(got=f"task {goal.task!r}", wanted=f"one of {', '.join(variants)}")
    count = variants[goal.task]
    if not 0 <= goal.variant < count:
        got = f"variant {goal.variant} of task {goal.task!r}"
        raise OutOfDomain(got=got, wanted=f"0 to {count - 1}")
