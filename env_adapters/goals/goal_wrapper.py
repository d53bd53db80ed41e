"""What all modalities of a goal environment have in common."""

from __future__ import annotations

from typing import Any

import gymnasium

from env_adapters.goals.forwarding import Forwarding, found_in
from env_adapters.goals.goal_environment import GoalEnvironment, Observation
from env_adapters.goals.robotics import goal_environment
from reglue.spec import Array


class GoalWrapper(Forwarding, GoalEnvironment):
    """Derive a modality from it: it is the goal environment that it wraps, seen otherwise.

    Write `observation`, which all observations go through, and `get_goal` where a goal is
    added; set `observation_space`.
    """

    def __init__(self, env: gymnasium.Env[Any, Any]) -> None:
        """Raises UsageError where `env` is no goal environment."""
        super().__init__(goal_environment(env))
        self.goals = found_in(self.env)
        """The goal environment next within."""
        self.diagnosed, self.success = self.goals.diagnosed, self.goals.success

    def observation(self, observation: Observation) -> Observation:
        """What is seen of what is seen within."""
        return observation

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observation, dict[str, Any]]:
        """As within."""
        observation, info = self.env.reset(seed=seed, options=options)
        return self.observation(observation), info

    def step(self, action: Any) -> tuple[Observation, Any, bool, bool, dict[str, Any]]:
        """As within."""
        observation, reward, terminated, truncated, info = self.env.step(action)
        return self.observation(observation), reward, terminated, truncated, info

    @property
    def fixed_goal(self) -> Any:
        """That of the environment within."""
        return self.goals.fixed_goal

    @fixed_goal.setter
    def fixed_goal(self, goal: Any) -> None:
        self.goals.fixed_goal = goal

    def check_goal(self, goal: Any) -> Any:
        """As within."""
        return self.goals.check_goal(goal)

    def get_goal(self) -> Observation:
        """As within."""
        return self.goals.get_goal()

    def set_goal(self, goal: Any) -> None:
        """As within."""
        self.goals.set_goal(goal)

    def sample_goals(self, n: int) -> Observation:
        """As within."""
        return self.goals.sample_goals(n)

    def rewards(self, achieved: Any, desired: Any, info: Any) -> Any:
        """As within."""
        return self.goals.rewards(achieved, desired, info)

    def compute_terminated(self, achieved_goal: Any, desired_goal: Any, info: Any) -> bool:
        """As within."""
        return self.goals.compute_terminated(achieved_goal, desired_goal, info)

    def compute_truncated(self, achieved_goal: Any, desired_goal: Any, info: Any) -> bool:
        """As within."""
        return self.goals.compute_truncated(achieved_goal, desired_goal, info)

    def check_images(self, size: int) -> None:
        """As within."""
        self.goals.check_images(size)

    def get_image(self, size: int, goal: Any = None) -> Array:
        """As within."""
        return self.goals.get_image(size, goal)
