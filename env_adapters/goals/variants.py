"""A goal is a variant of its task."""

from __future__ import annotations

from typing import Any

import numpy as np

from env_adapters.goals.forwarding import found_in
from env_adapters.goals.goal_environment import GoalEnvironment
from reglue.chance import Chance
from reglue.errors import UsageError


class GoalVariants:
    """`number` goals of an environment, drawn once: the same for the same seed everywhere."""

    def __init__(self, env: Any, number: int, seed: int) -> None:
        """`env` is or wraps a GoalEnvironment; it is reset. Raises UsageError if it has no
        set_goal, or a goal that is fixed.
        """
        env.unwrapped.np_random = np.random.Generator(Chance(seed).bits)
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
