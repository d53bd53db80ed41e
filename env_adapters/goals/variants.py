"""A goal is a variant of its task."""

from __future__ import annotations

from typing import Any

import numpy as np

from env_adapters.goals.forwarding import found_in
from env_adapters.goals.goal_environment import GoalEnvironment
from reglue.errors import UsageError


class GoalVariants:
    """`number` goals of an environment, drawn once: the same for the same seed everywhere."""

    def __init__(self, env: Any, number: int, seed: int) -> None:
        """`env` is or wraps a GoalEnvironment; it is reset. Raises UsageError if it has no
        set_goal, or a goal that is fixed.
        """
        if seed >= 2**128:
            raise UsageError(f"got goal_seed {seed}, wanted 0 to 2**128 - 1")
        # As Chance(seed), but with all of Philox's key: what is hidden must not be guessed.
        bits = np.random.Philox(key=seed, counter=2**256 - 1)
        env.unwrapped.np_random = np.random.Generator(bits)
        env.reset()
        goals = found_in(env)
        if goals.fixed_goal is not None:
            raise UsageError(f"got {number} goals and a fixed_goal, wanted one of the two")
        self._goals = [goals.check_goal(goal) for goal in _rows(goals, number)]

    def __len__(self) -> int:
        return len(self._goals)

    def aim(self, env: Any, variant: int) -> None:
        """Have the next reset's goal be that of `variant`."""
        found_in(env).fixed_goal = self._goals[variant]


def _rows(goals: GoalEnvironment, number: int) -> Any:
    drawn = goals.sample_goals(number)
    return drawn.get("state_desired_goal", drawn["desired_goal"])
