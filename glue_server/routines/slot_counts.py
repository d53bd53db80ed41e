"""The steps, rewards and successes of each slot's episodes."""

from __future__ import annotations

from math import isfinite

from reglue.messages.experiment_messages import Counts


class SlotCounts:
    """The counts of RL-Glue 3.04 (RL_glue.c), in Python's own numbers."""

    def __init__(self, slots: int = 1) -> None:
        self.steps = [0] * slots
        self._sums = [0.0] * slots
        self._successes = [False] * slots
        self._episodes = [0] * slots

    def __len__(self) -> int:
        return len(self.steps)

    def of(self, slot: int) -> Counts:
        """Its present or last episode."""
        return Counts(
            self._sums[slot], self.steps[slot], self._episodes[slot], self._successes[slot]
        )

    def begin(self, slot: int) -> None:
        """An episode begins: its start counts as a step."""
        self._sums[slot] = 0.0
        self._successes[slot] = False
        self.steps[slot] = 1

    def step(self, slot: int, reward: float, *, over: bool, success: bool = False) -> bool:
        """A step was taken; the agent chooses no action after the last one.

        False, and nothing is counted, where the sum of rewards would not be finite.
        """
        total = self._sums[slot] + reward
        if not isfinite(total):
            return False
        self._sums[slot] = total
        self._successes[slot] |= success
        self.steps[slot] += not over
        self._episodes[slot] += over
        return True
