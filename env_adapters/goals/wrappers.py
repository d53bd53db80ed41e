"""Wrappers that show a goal environment in another modality: their base class, and vectors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces
from gymnasium.utils import RecordConstructorArgs

from env_adapters.goals.goal_environment import (
    Forwarding,
    GoalEnvironment,
    Observation,
    goal_environment_in,
)
from env_adapters.goals.robotics import goal_environment
from reglue.errors import BadArgument, UnknownName
from reglue.spec import Array


class GoalWrapper(Forwarding, GoalEnvironment):
    """Base class of wrappers that show a goal environment in another modality.

    Override `observation`, which transforms every observation, and `get_goal` if the wrapper
    adds forms of the goal; set `observation_space`.
    """

    def __init__(self, env: gymnasium.Env[Any, Any]) -> None:
        """Raises UsageError if `env` is not a goal environment."""
        super().__init__(goal_environment(env))
        self.goals = goal_environment_in(self.env)
        """The goal environment that is wrapped."""
        self.diagnosed, self.success = self.goals.diagnosed, self.goals.success

    def observation(self, observation: Observation) -> Observation:
        """The wrapped environment's observation, transformed."""
        return observation

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observation, dict[str, Any]]:
        observation, info = self.env.reset(seed=seed, options=options)
        return self.observation(observation), info

    def step(self, action: Any) -> tuple[Observation, Any, bool, bool, dict[str, Any]]:
        observation, reward, terminated, truncated, info = self.env.step(action)
        return self.observation(observation), reward, terminated, truncated, info

    @property
    def fixed_goal(self) -> Any:
        """The wrapped environment's fixed goal."""
        return self.goals.fixed_goal

    @fixed_goal.setter
    def fixed_goal(self, goal: Any) -> None:
        self.goals.fixed_goal = goal

    def check_goal(self, goal: Any) -> Any:
        return self.goals.check_goal(goal)

    def get_goal(self) -> Observation:
        return self.goals.get_goal()

    def set_goal(self, goal: Any) -> None:
        self.goals.set_goal(goal)

    def sample_goals(self, n: int) -> Observation:
        return self.goals.sample_goals(n)

    def rewards(self, achieved: Any, desired: Any, info: Any) -> Any:
        return self.goals.rewards(achieved, desired, info)

    def compute_terminated(self, achieved_goal: Any, desired_goal: Any, info: Any) -> bool:
        return self.goals.compute_terminated(achieved_goal, desired_goal, info)

    def compute_truncated(self, achieved_goal: Any, desired_goal: Any, info: Any) -> bool:
        return self.goals.compute_truncated(achieved_goal, desired_goal, info)

    def check_images(self, size: int) -> None:
        self.goals.check_images(size)

    def get_image(self, size: int, goal: Any = None) -> Array:
        return self.goals.get_image(size, goal)


class _BaseEnv(Forwarding):
    """The innermost environment, without methods that read goals from Dict observations."""

    def __getattr__(self, name: str) -> Any:
        if name == "env" or name.startswith("compute_"):
            raise AttributeError(f"{name} is for observations that are dicts")
        return getattr(self.env, name)


class FlatGoalEnv(Forwarding, RecordConstructorArgs):
    """Observations are the entries `obs_key` of the Dict, concatenated to one vector.

    They contain the goal if it is one of these entries, or with `append_goal_to_obs`; never twice.
    `get_goal()` returns the entries `goal_key`, in `goal_space`. A key is a name or a list of
    names; the arguments may be called `obs_keys` and `goal_keys` too.
    """

    def __init__(
        self,
        env: gymnasium.Env[Any, Any],
        obs_key: str | Sequence[str] | None = None,
        goal_key: str | Sequence[str] | None = None,
        append_goal_to_obs: bool = False,
        *,
        obs_keys: str | Sequence[str] | None = None,
        goal_keys: str | Sequence[str] | None = None,
    ) -> None:
        """Raises UnknownName for unknown keys, and BadArgument for illegal ones."""
        RecordConstructorArgs.__init__(
            self,
            obs_key=obs_key,
            goal_key=goal_key,
            append_goal_to_obs=append_goal_to_obs,
            obs_keys=obs_keys,
            goal_keys=goal_keys,
        )
        super().__init__(goal_environment(env))
        known: Any = self.env.observation_space
        self._obs_keys = _keys("obs_key", obs_key, obs_keys, "observation", known)
        self._goal_keys = _keys("goal_key", goal_key, goal_keys, "desired_goal", known)
        appended = self._goal_keys if append_goal_to_obs else []
        self._seen_keys = [*self._obs_keys, *(key for key in appended if key not in self._obs_keys)]
        self._spaces = {key: known[key] for key in (*self._obs_keys, *self._goal_keys)}
        self.observation_space = _space([self._spaces[key] for key in self._seen_keys])
        self.goal_space = _space([self._spaces[key] for key in self._goal_keys])
        self._base = _BaseEnv(self.env.unwrapped)

    @property
    def unwrapped(self) -> Any:
        """The wrapped environment without `compute_reward`.

        Stable-Baselines3 takes an environment with that method for one with Dict observations.
        """
        return self._base

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Array, dict[str, Any]]:
        observation, info = self.env.reset(seed=seed, options=options)
        return self._flat(observation, self._seen_keys), info

    def step(self, action: Any) -> tuple[Array, Any, bool, bool, dict[str, Any]]:
        observation, reward, terminated, truncated, info = self.env.step(action)
        return self._flat(observation, self._seen_keys), reward, terminated, truncated, info

    def get_goal(self) -> Array:
        """The present goal, as a vector. Raises UsageError before the first reset."""
        goal = goal_environment_in(self.env).get_goal()
        for key in self._goal_keys:
            if key not in goal:
                raise UnknownName("entry of get_goal()", key, goal)
        return self._flat(goal, self._goal_keys)

    def _flat(self, entries: Mapping[str, Any], keys: Sequence[str]) -> Array:
        parts = [spaces.flatten(self._spaces[key], entries[key]) for key in keys]
        return np.concatenate(parts)  # type: ignore[arg-type]


def _keys(
    name: str,
    one: str | Sequence[str] | None,
    other: str | Sequence[str] | None,
    default: str,
    known: Any,
) -> list[str]:
    if one is not None and other is not None:
        raise BadArgument(got=f"{name} {one!r} and {name}s {other!r}", wanted="one of the two")
    chosen = one if one is not None else other if other is not None else default
    keys = [chosen] if isinstance(chosen, str) else chosen
    if not isinstance(keys, list | tuple) or not all(isinstance(key, str) for key in keys):
        raise BadArgument(got=f"{name} {chosen!r}", wanted="a name or a list of names")
    if not keys:
        raise BadArgument(got=f"no {name}", wanted="at least one")
    for key in keys:
        if key not in known.spaces:
            raise UnknownName(f"entry of the observations for {name}", key, known.spaces)
    return list(keys)


def _space(parts: Sequence[Any]) -> Any:
    flat = [spaces.flatten_space(part) for part in parts]
    for part, whole in zip(flat, parts, strict=True):
        if not isinstance(part, spaces.Box):
            raise BadArgument(got=whole, wanted="a space that can be a vector")
    low, high = (np.concatenate([getattr(part, end) for part in flat]) for end in ("low", "high"))
    return spaces.Box(low, high, dtype=low.dtype.type)
