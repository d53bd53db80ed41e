"""The hidden task: valleys that no team has seen. Only the organiser has this file."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
import numpy.typing as npt

LEFT, FASTEST = -1.2, 0.07  # a position; position a step


class Valley(gymnasium.Env):
    """Mountain car, with another engine, slope and goal in each episode, drawn from its seed.

    The seeds follow from the phase's secret. Observations are (position, velocity), actions 0, 1
    and 2: full throttle reverse, none, forward. Each step costs 1.
    """

    observation_space = gymnasium.spaces.Box(
        np.array([LEFT, -FASTEST]), np.array([0.6, FASTEST]), dtype=np.float64
    )
    action_space = gymnasium.spaces.Discrete(3)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[npt.NDArray[np.float64], dict[str, Any]]:
        """Start at rest, near the bottom of a new valley."""
        super().reset(seed=seed)
        draw = self.np_random.uniform
        self.engine, self.slope, self.goal = draw([0.001, 0.0022, 0.4], [0.0015, 0.0027, 0.6])
        self.position, self.velocity = draw(-0.6, -0.4), 0.0
        return self.observation, {}

    def step(
        self, action: int
    ) -> tuple[npt.NDArray[np.float64], float, bool, bool, dict[str, Any]]:
        """Sutton & Barto's equations (2018, page 245)."""
        pull = self.engine * (action - 1) - self.slope * np.cos(3 * self.position)
        self.velocity = np.clip(self.velocity + pull, -FASTEST, FASTEST)
        self.position = np.clip(self.position + self.velocity, LEFT, self.goal)
        if self.position == LEFT:
            self.velocity = 0.0
        return self.observation, -1.0, bool(self.position == self.goal), False, {}

    @property
    def observation(self) -> npt.NDArray[np.float64]:
        """Position and velocity, (2,)."""
        return np.array([self.position, self.velocity])
