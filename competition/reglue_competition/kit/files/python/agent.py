"""Acts at random: every agent should do better.

The seed of an episode's start alone decides its actions, so that they are the same in
any slot, order and process.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from reglue.agents.agent import Agent
from reglue.messages.agent import Starts, Steps
from reglue.spec import Arrays, TaskSpec


class RandomAgent(Agent):
    """Draws every action by `TensorSpec.sample`."""

    adapts = True  # it learns nothing, but meta-learning benchmarks may judge it

    partial_turns = True

    def agent_init(self, spec: TaskSpec) -> None:
        """Forget the generators of all episodes."""
        self._rngs: dict[int, np.random.Generator] = {}

    def agent_start(self, observations: Arrays, starts: Starts) -> Arrays:
        """Seed a generator for each episode, then act."""
        for slot, seed in zip(starts.slots.tolist(), starts.seeds.tolist(), strict=True):
            self._rngs[slot] = np.random.Generator(np.random.Philox(seed))
        return self._act(starts.slots)

    def agent_step(
        self, rewards: npt.NDArray[np.float64], observations: Arrays, steps: Steps
    ) -> Arrays:
        """Act again."""
        return self._act(steps.slots)

    def _act(self, slots: npt.NDArray[np.uint32]) -> Arrays:
        rows = {tensor.name: tensor.empty(len(slots)) for tensor in self.spec.actions}
        for row, slot in enumerate(slots.tolist()):
            for tensor in self.spec.actions:
                rows[tensor.name][row] = tensor.sample(self._rngs[slot])
        return rows
