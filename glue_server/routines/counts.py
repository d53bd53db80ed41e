"""What RL_return, RL_num_steps and RL_num_episodes say, slot by slot."""

from __future__ import annotations

from reglue.messages.experiment import Counts


class SlotCounts:
    """Those of RL-Glue 3.04 (RL_glue.c), in Python's own numbers."""

    def __init__(self, slots: int = 1) -> None:
        self.steps = [0] * slots
        self._sums = [0.0] * slots
        self._episodes = [0] * slots

    def __len__(self) -> int:
        return len(self.steps)

    def of(self, slot: int) -> Counts:
        """Its present or last episode."""
        return Counts(self._sums[slot], self.steps[slot], self._episodes[slot])

    def begin(self, slot: int) -> None:
        """An episode begins: its start counts as a step."""
        self._sums[slot] = 0.0
        self.steps[slot] = 1

    def step(self, slot: int, reward: float, *, over: bool) -> None:
        """A step was taken; the agent chooses no action after the last one."""
        self._sums[slot] += reward
        self.steps[slot] += not over
        self._episodes[slot] += over
