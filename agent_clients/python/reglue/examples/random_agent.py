"""Acts by chance: the floor that every agent should beat.

Each episode's chance comes from its start seed alone, so that its actions are
the same in whatever slot, order or process it is played.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from reglue.agents.agent import Agent
from reglue.messages.agent import Starts, Steps
from reglue.spec import (
    Array,
    Arrays,
    Box,
    Discrete,
    MultiBinary,
    MultiDiscrete,
    TaskSpec,
    TensorSpec,
)


class RandomAgent(Agent):
    """Draws every action from the domain of its tensor, as `draw` says."""

    adapts = True  # as a baseline: to nothing

    partial_turns = True

    def agent_init(self, spec: TaskSpec) -> None:
        """No episode has begun: there is no chance to draw from yet."""
        self._chance: dict[int, np.random.Generator] = {}

    def agent_start(self, observations: Arrays, starts: Starts) -> Arrays:
        """Seed the chance of each episode, then act."""
        for slot, seed in zip(starts.slots.tolist(), starts.seeds.tolist(), strict=True):
            self._chance[slot] = np.random.Generator(np.random.Philox(seed))
        return self._act(starts.slots)

    def agent_step(
        self, rewards: npt.NDArray[np.float64], observations: Arrays, steps: Steps
    ) -> Arrays:
        """Act, whatever came of it."""
        return self._act(steps.slots)

    def _act(self, slots: npt.NDArray[np.uint32]) -> Arrays:
        rows = {tensor.name: tensor.empty(len(slots)) for tensor in self.spec.actions}
        for row, slot in enumerate(slots.tolist()):
            for tensor in self.spec.actions:
                rows[tensor.name][row] = draw(tensor, self._chance[slot])
        return rows


def draw(tensor: TensorSpec, chance: np.random.Generator) -> Array:
    """One value of shape `tensor.shape`: uniform where the domain is bounded.

    Where a Box is not: a normal deviate, or an exponential one from the bound
    that there is. Gymnasium's `Box.sample` does the same.
    """
    match tensor.domain:
        case Discrete(n, start):
            return chance.integers(start, start + n, tensor.shape)
        case MultiDiscrete(n):
            return chance.integers(0, np.reshape(n, tensor.shape))
        case MultiBinary():
            return chance.integers(0, 2, tensor.shape)
        case Box():
            return _draw_box(tensor, chance)


def _draw_box(tensor: TensorSpec, chance: np.random.Generator) -> Array:
    low, high = tensor.low(), tensor.high()
    whole = np.dtype(tensor.dtype).kind in "uib"
    top = high + 1 if whole else high  # both bounds belong to a Box
    below, above = np.isfinite(low), np.isfinite(high)
    bounded = chance.uniform(np.where(below & above, low, 0), np.where(below & above, top, 1))
    tail = chance.exponential(size=tensor.shape)
    free = np.where(
        below, low + tail, np.where(above, high - tail, chance.normal(size=tensor.shape))
    )
    drawn = np.where(below & above, bounded, free)
    return np.floor(drawn) if whole else drawn
