"""Image, lidar and language, one around the other."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces

from env_adapters.goals import FlatGoalEnv, GoalWrapper, ImageEnv, Point2D

WALL = 4.0
WORDS = spaces.Text(10, charset="abcdefghijklmnopqrstuvwxyz ")


class LidarEnv(GoalWrapper):
    """How far the walls are, to the right, the left, upwards and downwards."""

    def __init__(self, env: gymnasium.Env[Any, Any]) -> None:
        super().__init__(env)
        known: Any = self.env.observation_space
        beams = spaces.Box(0, 2 * WALL, (4,), np.float64)
        self.observation_space = spaces.Dict({**known.spaces, "lidar_observation": beams})

    def observation(self, observation: dict[str, Any]) -> dict[str, Any]:
        x, y = observation["state_observation"]
        beams = np.array([WALL - x, WALL + x, WALL - y, WALL + y])
        return {**observation, "lidar_observation": beams}


class LanguageEnv(GoalWrapper):
    """The goal in words."""

    def __init__(self, env: gymnasium.Env[Any, Any]) -> None:
        super().__init__(env)
        known: Any = self.env.observation_space
        self.observation_space = spaces.Dict({**known.spaces, "language_desired_goal": WORDS})

    def get_goal(self) -> dict[str, Any]:
        goal = super().get_goal()
        x, y = goal["state_desired_goal"]
        words = f"{'up' if y > 0 else 'down'} {'right' if x > 0 else 'left'}"
        return {**goal, "language_desired_goal": words}

    def observation(self, observation: dict[str, Any]) -> dict[str, Any]:
        words = self.get_goal()["language_desired_goal"]
        return {**observation, "language_desired_goal": words}


def stacked() -> LanguageEnv:
    point = Point2D(randomize_position_on_reset=False, fixed_goal=(1, 2))
    return LanguageEnv(LidarEnv(ImageEnv(point, 8)))


def test_each_adds_its_own_to_what_is_there() -> None:
    env = stacked()
    observation, _ = env.reset(seed=0)
    assert env.observation_space.contains(observation)
    assert observation["lidar_observation"].tolist() == [4, 4, 4, 4]
    assert observation["language_desired_goal"] == "up right"
    assert observation["image_observation"].shape == (192,)
    assert env.step((1, 0))[0]["lidar_observation"].tolist() == [3, 5, 4, 4]


def test_their_keys_are_chosen_from_all_of_them() -> None:
    base = stacked()
    env = FlatGoalEnv(
        base,
        obs_key=["image_observation", "lidar_observation"],
        goal_key=["language_desired_goal", "image_desired_goal"],
    )
    seen, _ = env.reset(seed=0)
    assert seen.shape == env.observation_space.shape == (192 + 4,)
    assert seen[192:].tolist() == [4, 4, 4, 4]
    goal = env.get_goal()
    words = spaces.flatten(WORDS, "up right")
    assert goal.shape == env.goal_space.shape == (len(words) + 192,)
    assert (goal[: len(words)] == words).all()
    assert (goal[len(words) :] == base.get_goal()["image_desired_goal"]).all()


def test_the_goal_is_set_and_fixed_through_all_of_them() -> None:
    env = stacked()
    env.reset(seed=0)
    env.set_goal({"state_desired_goal": (-1, -1)})
    assert env.get_goal()["language_desired_goal"] == "down left"
    env.fixed_goal = (-1, 1)
    assert env.reset()[0]["language_desired_goal"] == "up left"
    point: Any = env.unwrapped
    assert point.fixed_goal.tolist() == [-1, 1]
    assert env.compute_reward(np.zeros(2), env.step((0, 0))[0]) == -np.sqrt(2)
