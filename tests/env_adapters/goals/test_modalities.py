"""Image, lidar and language, one around the other."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces

from env_adapters.determinism import check_determinism
from env_adapters.goals import FlatGoalEnv, GoalWrapper, ImageEnv, Point2D
from env_adapters.gymnasium import Gymnasium
from reglue.messages.agent_messages import Phase
from reglue.messages.environment_messages import Cell

WALL = 4.0
WORDS = spaces.Text(10, charset="abcdefghijklmnopqrstuvwxyz ")


class LidarEnv(GoalWrapper):
    """The distances to the walls, to the right, the left, upwards and downwards."""

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


def stacked(fixed_goal: tuple[float, float] | None = (1, 2)) -> LanguageEnv:
    """Also what Gymnasium makes by the id below."""
    point = Point2D(randomize_position_on_reset=False, fixed_goal=fixed_goal)
    return LanguageEnv(LidarEnv(ImageEnv(point, 8)))


@pytest.fixture
def stacked_id() -> Iterator[str]:
    name = "reglue-tests/Stacked-v0"
    made: Any = stacked
    gymnasium.register(name, made, max_episode_steps=9, kwargs={"fixed_goal": None})
    yield name
    del gymnasium.registry[name]


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


def test_a_cell_shows_what_of_them_is_asked_for(stacked_id: str) -> None:
    """Each as a tensor of its own, the goal of each variant as an image and in words."""
    sees = ["image_observation", "lidar_observation", "language_desired_goal", "image_desired_goal"]
    suite = Gymnasium(stacked_id, goals=4, sees=sees)
    check_determinism(suite)
    assert {tensor.name: tensor.shape for tensor in suite.spec.observations} == {
        "image_observation": (192,),
        "lidar_observation": (4,),
        "language_desired_goal": (10,),
        "image_desired_goal": (192,),
    }
    with closing(suite.world()) as world:
        seen = [world.start(Cell(stacked_id, goal, 1, 0, Phase.TRAIN)) for goal in range(4)]
    words = {first["language_desired_goal"].tobytes().rstrip(b"\0").decode() for first in seen}
    assert len({first["image_desired_goal"].tobytes() for first in seen}) > 1  # of 8 × 8 pixels
    assert len(words) > 1
    assert words <= {"up right", "up left", "down right", "down left"}
