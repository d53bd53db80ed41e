"""Goal environments with images as observations and goals."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces
from gymnasium.utils import RecordConstructorArgs

from env_adapters.argument_checks import check_integer, check_positive
from env_adapters.goals.goal_environment import GOAL_KEYS, Observation
from env_adapters.goals.wrappers import GoalWrapper
from reglue.errors import BadArgument, UnknownName
from reglue.spec import Array

_REWARDS = ("wrapped_env", "image_distance", "image_sparse")


class ImageEnv(GoalWrapper, RecordConstructorArgs):
    """Adds images of the observation, the desired and the achieved goal to the state.

    `observation`, `desired_goal` and `achieved_goal` become images, which are also called
    `image_observation` and so on; the former arrays are `state_observation` and so on. An image
    is `imsize` × `imsize` × 3: uint8, or float64 from 0 to 1 if `normalize`; channels come first
    if `transpose`; it is a vector if `flat`. The image of the desired goal shows the state at
    which the goal was set, with the goal achieved.

    `info` has `image_dist`, the length of the difference of the images of both goals, and
    `image_success`, 0 where it is below `threshold`, else -1. Rewards are the wrapped
    environment's (`wrapped_env`), minus that distance (`image_distance`), or that success
    (`image_sparse`).

    Resets and `sample_goals` choose from `presampled_goals`, as `sample_goals` returns them,
    unless there is a fixed goal: this saves drawing an image for each goal.
    """

    def __init__(  # noqa: PLR0913 - the original's
        self,
        env: gymnasium.Env[Any, Any],
        imsize: int = 84,
        *,
        transpose: bool = False,
        normalize: bool = False,
        flat: bool = True,
        reward_type: str = "wrapped_env",
        threshold: float = 10.0,
        presampled_goals: Mapping[str, Any] | None = None,
    ) -> None:
        """Raises UsageError if there are no goals, or they cannot be drawn."""
        RecordConstructorArgs.__init__(
            self,
            imsize=imsize,
            transpose=transpose,
            normalize=normalize,
            flat=flat,
            reward_type=reward_type,
            threshold=threshold,
            presampled_goals=presampled_goals,
        )
        super().__init__(env)
        if reward_type not in _REWARDS:
            raise UnknownName("reward_type", str(reward_type), _REWARDS)
        check_integer("imsize", imsize, 1)
        check_positive("threshold", threshold)
        self.check_images(imsize)
        self.diagnosed = (*self.diagnosed, "image_dist", "image_success")
        self._size, self._transpose, self._normalize = imsize, transpose, normalize
        self._flat, self._reward_type, self._threshold = flat, reward_type, threshold
        self._last_goal_image: tuple[bytes, Array] | None = None  # a goal and its image
        blank = self._to_format(np.zeros((imsize, imsize, 3), np.uint8))
        image = spaces.Box(0, 1 if normalize else 255, blank.shape, blank.dtype.type)
        known: Any = self.env.observation_space
        images = {f"{prefix}{name}": image for prefix in ("", "image_") for name in GOAL_KEYS}
        self.observation_space = spaces.Dict({**_with_states(known.spaces), **images})
        self._presampled = self._checked(presampled_goals) if presampled_goals else {}
        self.num_goals_presampled = len(self._presampled.get("state_desired_goal", ()))

    def observation(self, observation: Observation) -> Observation:
        """Replace the three plain entries by images, and add the `image_…` entries."""
        seen = self._to_format(self.goals.get_image(self._size))
        images = {"observation": seen, "desired_goal": self._desired(), "achieved_goal": seen}
        beside = {f"image_{name}": image.copy() for name, image in images.items()}
        return {**_with_states(observation), **images, **beside}

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observation, dict[str, Any]]:
        self._last_goal_image = None
        first = super().reset(seed=seed, options=options)
        if not self._presampled or self.fixed_goal is not None:
            return first
        goal = {name: rows[0] for name, rows in self.sample_goals(1).items()}
        self.set_goal(goal)
        self._last_goal_image = goal["state_desired_goal"].tobytes(), goal["image_desired_goal"]
        return {**first[0], **self.get_goal()}, first[1]

    def step(self, action: Any) -> tuple[Observation, Any, bool, bool, dict[str, Any]]:
        observation, reward, terminated, truncated, info = super().step(action)
        distance = self._distance(observation["achieved_goal"], observation["desired_goal"])
        info = {
            **info,
            "image_dist": float(distance),
            "image_success": float(distance < self._threshold) - 1.0,
        }
        if self._reward_type != "wrapped_env":
            reward = float(self._reward(distance))
        return observation, reward, terminated, truncated, info

    def get_goal(self) -> Observation:
        """The goal's state and image."""
        image = self._desired()
        images = {"desired_goal": image, "image_desired_goal": image.copy()}
        return {**_with_states(self.goals.get_goal()), **images}

    def check_goal(self, goal: Any) -> Any:
        """The goal's state. Raises UsageError for an image alone, whose state is unknown."""
        if isinstance(goal, Mapping):
            if "state_desired_goal" not in goal:
                raise BadArgument(
                    got=f"a goal of {sorted(goal)}", wanted="state_desired_goal in it"
                )
            goal = goal["state_desired_goal"]
        return self.goals.check_goal(goal)

    def set_goal(self, goal: Any) -> None:
        """Set the goal by `state_desired_goal`, or by its array alone."""
        self.goals.set_goal(self.check_goal(goal))

    def sample_goals(self, n: int) -> Observation:
        """States and images of goals: from `presampled_goals`, or drawn at the present state."""
        if self._presampled and self.fixed_goal is None:
            check_integer("n", n, 0)
            chosen = self.np_random.integers(self.num_goals_presampled, size=n)
            return {name: rows[chosen] for name, rows in self._presampled.items()}
        goals = _with_states(self.goals.sample_goals(n))
        rows = [self._goal_image(goal) for goal in goals["state_desired_goal"]]
        space: Any = self.observation_space
        image = space["desired_goal"]
        images = np.array(rows, image.dtype).reshape(n, *image.shape)
        return {**goals, "desired_goal": images, "image_desired_goal": images.copy()}

    def compute_rewards(self, *arguments: Any) -> Any:
        """Rewards by `reward_type`, from states (wrapped_env) or images."""
        if self._reward_type == "wrapped_env":
            return self.goals.compute_rewards(*arguments)
        match arguments:
            case [_, Mapping() as batch]:
                return self.rewards(batch["achieved_goal"], batch["desired_goal"], {})
            case _:
                return super().compute_rewards(*arguments)

    def rewards(self, achieved: Any, desired: Any, info: Any) -> Any:
        """Rewards from images, or from states if the wrapped environment's rewards are used."""
        if self._reward_type == "wrapped_env":
            return self.goals.rewards(achieved, desired, info)
        return self._reward(self._distance(achieved, desired))

    def _checked(self, goals: Mapping[str, Any]) -> Observation:
        """The states and images of goals. Raises UsageError unless their numbers are equal."""
        space: Any = self.observation_space
        checked = {}
        for name in ("state_desired_goal", "image_desired_goal"):
            if name not in goals:
                raise BadArgument(
                    got=f"presampled_goals of {sorted(goals)}", wanted=f"{name} in it"
                )
            rows, wanted = np.array(goals[name]), space[name]
            fits = rows.shape[1:] == wanted.shape and len(rows) > 0
            if not fits or not all(map(wanted.contains, rows.astype(wanted.dtype))):
                raise BadArgument(
                    got=f"presampled_goals whose {name} are {rows.dtype} of shape {rows.shape}",
                    wanted=f"one or more rows of {wanted}",
                )
            checked[name] = rows.astype(wanted.dtype)
        states, images = checked.values()
        if len(states) != len(images):
            raise BadArgument(f"got {len(states)} states and {len(images)} images of goals")
        return {**checked, "desired_goal": images}

    def _reward(self, distance: Any) -> Any:
        if self._reward_type == "image_distance":
            return -distance
        return -np.asarray(distance > self._threshold, np.float64)

    def _distance(self, one: Any, other: Any) -> Any:
        """Distance of two images, or of each pair of a batch; in float64, as uint8 would wrap."""
        space: Any = self.observation_space
        shape = space["desired_goal"].shape
        apart = np.subtract(one, other, dtype=np.float64)
        if apart.shape[apart.ndim - len(shape) :] != shape:
            raise BadArgument(got=f"images of shape {apart.shape}", wanted=f"(…, {shape})")
        return np.sqrt(np.square(apart).sum(axis=tuple(range(-len(shape), 0))))

    def _desired(self) -> Array:
        """The image of the present goal; drawn again only if the goal has changed."""
        goal = _with_states(self.goals.get_goal())["state_desired_goal"]
        if self._last_goal_image is None or self._last_goal_image[0] != goal.tobytes():
            self._last_goal_image = goal.tobytes(), self._goal_image(goal)
        return self._last_goal_image[1].copy()

    def _goal_image(self, goal: Array) -> Array:
        return self._to_format(self.goals.get_image(self._size, goal))

    def _to_format(self, image: Array) -> Array:
        image = image / 255.0 if self._normalize else image
        image = image.transpose(2, 0, 1) if self._transpose else image
        return image.ravel() if self._flat else image


def _with_states(entries: Mapping[str, Any]) -> Observation:
    """Add the three plain entries as `state_…`, unless those exist."""
    states = {f"state_{name}": entries[name] for name in GOAL_KEYS if name in entries}
    return {**states, **entries}
