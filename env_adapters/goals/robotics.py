"""The goal environments of gymnasium-robotics: Fetch, Hand, mazes and the kitchen."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces
from gymnasium.utils import RecordConstructorArgs

from env_adapters.arguments import check_whole
from env_adapters.goals.families import Family, family_of
from env_adapters.goals.forwarding import Forwarding, found_in
from env_adapters.goals.goal_environment import PLAIN, GoalEnvironment, Observation
from env_adapters.goals.pictures import Pictures
from env_adapters.integration_state import IntegrationState
from reglue.errors import UsageError
from reglue.spec import Array


def goal_environment(env: gymnasium.Env[Any, Any], *, fixed_goal: Any = None) -> Any:
    """`env` if it is or wraps a GoalEnvironment, else a GoalEnvironment around it.

    `fixed_goal`, where there is one, is the goal of every episode. Raises UsageError for an
    environment without goals, one that is not known, or a goal outside its space.
    """
    if not isinstance(env, gymnasium.Env):
        raise UsageError(f"got {env!r}, wanted a Gymnasium environment")
    try:
        goals = found_in(env)
    except LookupError:
        env = goals = Robotics(env)
    if fixed_goal is not None:
        goals.fixed_goal = fixed_goal
    return env


class Robotics(Forwarding, GoalEnvironment, RecordConstructorArgs):
    """One of gymnasium-robotics, whose bits stay what they are."""

    def __init__(self, env: gymnasium.Env[Any, Any]) -> None:
        """Raises UsageError for an environment that has no goals, or is not known."""
        RecordConstructorArgs.__init__(self)
        super().__init__(env)
        space = env.observation_space
        if not isinstance(space, spaces.Dict) or not set(PLAIN) <= set(space.spaces):
            raise UsageError(
                f"{env} has no goals: its observations are {space}, wanted a Dict with "
                f"{', '.join(PLAIN)}"
            )
        self._family: Family = family_of(env)
        self._pictures: dict[int, Pictures] = {}
        self.success = self._family.success
        self.diagnosed = (self.success,) if self.success else ()

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observation, dict[str, Any]]:
        """Begin an episode, with the fixed goal if there is one."""
        fixed = self.fixed_goal
        if fixed is None:
            observation, info = self.env.reset(seed=seed, options=options)
            return self._family.seen(observation), info
        with self._family.starting(fixed):
            observation, info = self.env.reset(seed=seed, options=options)
        self._family.set(fixed)
        return {**observation, **self.get_goal()}, info

    def step(self, action: Any) -> tuple[Observation, Any, bool, bool, dict[str, Any]]:
        """Take a step."""
        observation, reward, terminated, truncated, info = self.env.step(action)
        return self._family.seen(observation), reward, terminated, truncated, info

    def check_goal(self, goal: Any) -> Any:
        """Raises UsageError for the kitchen too, which has no set_goal."""
        if self._family.fixed_because:
            raise UsageError(f"{self.env} has no set_goal: {self._family.fixed_because}")
        return super().check_goal(goal)

    def get_goal(self) -> Observation:
        """As the environment keeps it. Raises UsageError where there is none yet."""
        return {"desired_goal": self._family.get()}

    def set_goal(self, goal: Any) -> None:
        """Until the next reset, or until a maze sets another one, see its `reset_target`."""
        self._family.set(self.check_goal(goal))

    def sample_goals(self, n: int) -> Observation:
        """Drawn as a reset draws them. Raises UsageError for the kitchen."""
        if self._family.fixed_because:
            raise UsageError(f"{self.env} has no goals to draw: {self._family.fixed_because}")
        check_whole("n", n, 0)
        fixed = self.fixed_goal
        goals = [self._family.draw() if fixed is None else fixed for _ in range(n)]
        space: Any = self.observation_space
        shape = space["desired_goal"].shape
        return {"desired_goal": np.array(goals, np.float64).reshape(n, *shape)}

    def rewards(self, achieved: Any, desired: Any, info: Any) -> Any:
        """As the environment computes them. Raises UsageError for goals of another shape."""
        space: Any = self.observation_space
        wanted = space["desired_goal"]
        if not isinstance(achieved, Mapping):
            achieved, desired = np.asarray(achieved), np.asarray(desired)
            if achieved.shape != desired.shape or achieved.shape[-1:] != wanted.shape:
                got = f"{achieved.shape} and {desired.shape}"
                raise UsageError(f"got goals of shapes {got}, wanted (…, {wanted.shape[0]})")
        return self._family.rewards(achieved, desired, info)

    def compute_terminated(self, achieved_goal: Any, desired_goal: Any, info: Any) -> bool:
        """As the environment has it."""
        compute = self.env.get_wrapper_attr("compute_terminated")
        return bool(compute(achieved_goal, desired_goal, info))

    def compute_truncated(self, achieved_goal: Any, desired_goal: Any, info: Any) -> bool:
        """As the environment has it."""
        compute = self.env.get_wrapper_attr("compute_truncated")
        return bool(compute(achieved_goal, desired_goal, info))

    def check_images(self, size: int) -> None:
        """Raises UsageError without a library to draw with, and for hands of fingers alone."""
        if self._family.unseen_because:
            raise UsageError(f"{self.env} has no image of goals: {self._family.unseen_because}")
        self._pictures_of(size)

    def get_image(self, size: int, goal: Any = None) -> Array:
        """Drawn by MuJoCo, from a copy of the state."""
        family, pictures = self._family, self._pictures_of(size)
        state = IntegrationState(family).read()
        wanted = None if goal is None else self.check_goal(goal)
        return pictures.take(state, lambda data: family.arrange(data, wanted))

    def close(self) -> None:
        """Close the environment and what draws."""
        for pictures in self._pictures.values():
            pictures.close()
        self._pictures = {}
        super().close()

    def _pictures_of(self, size: int) -> Pictures:
        if size not in self._pictures:
            self._pictures[size] = Pictures(self._family.model, size, self._family.camera)
        return self._pictures[size]
