"""Stands in for a hidden task: what agents see and do has its shapes, and means nothing.

It shows whether an agent fits and is fast enough, not how good it is.
"""

from __future__ import annotations

import math

import numpy as np

from reglue import Cell, Phase, Step
from reglue.spec import Arrays
from reglue.wire.spec_encoding import spec_from_bytes

STEPS = 200  # of an episode whose task has no limit


class StandIn:
    """A suite of one task. Observations are random numbers of the task's spaces."""

    standardizes = False

    def __init__(self, spec: str, tells_success: bool) -> None:
        self.spec = spec_from_bytes(bytes.fromhex(spec))
        self.tells_success = tells_success
        self.variants = {"stand-in": 50}

    def world(self) -> World:
        """Another slot of this environment."""
        return World(self)


class World:
    """Plays one episode after another, each to its limit."""

    def __init__(self, suite: StandIn) -> None:
        self._suite = suite

    def start(self, cell: Cell) -> Arrays:
        """Begin an episode: the cell's seed draws all of it."""
        self._random = np.random.Generator(np.random.Philox(cell.seed))
        self._steps, self._phase = 0, cell.phase
        return self._seen()

    def step(self, action: Arrays) -> Step:
        """Go on, whatever the action is."""
        spec = self._suite.spec
        self._steps += 1
        sees_reward = spec.rewards_in_evaluation or self._phase is not Phase.EVALUATE
        bounds = [each if math.isfinite(each) else 0.0 for each in spec.reward_range]
        return Step(
            reward=self._random.uniform(min(bounds), max(bounds)) if sees_reward else 0.0,
            observation=self._seen(),
            terminated=False,
            truncated=not spec.continuing and self._steps == (spec.horizon or STEPS),
            success=False,
        )

    def close(self) -> None:
        """Do nothing: there is nothing to close."""

    def _seen(self) -> Arrays:
        return {each.name: each.sample(self._random) for each in self._suite.spec.observations}
