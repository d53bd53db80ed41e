"""multiworld's README: its blocks, with our imports; CarEnv is Point2D.

Some lines differ, as Gymnasium differs from Gym: `reset` returns an info too, `step` five values.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import Any

import gymnasium
import numpy as np

from env_adapters.goals import FlatGoalEnv, GoalWrapper, ImageEnv, Point2D
from reglue.errors import UnknownName
from tests.error_facts import raises
from tests.originals.original_pages import run

STATE = ("observation", "desired_goal", "achieved_goal")


class Words(GoalWrapper):
    """A modality of one number."""

    entries: tuple[str, ...] = ()

    def __init__(self, env: Any) -> None:
        super().__init__(env)
        one = gymnasium.spaces.Box(0, 9, (1,), np.float64)
        known: Any = self.env.observation_space
        self.observation_space = gymnasium.spaces.Dict(
            {**known.spaces, **dict.fromkeys(self.entries, one)}
        )

    def observation(self, observation: Any) -> Any:
        return {**observation, **{name: np.array([7.0]) for name in self.entries}}

    def get_goal(self) -> Any:
        return self.observation(self.goals.get_goal())


class LidarEnv(Words):
    entries = ("lidar_observation",)


class LanguageEnv(Words):
    entries = ("language_desired_goal",)


def page(code: str) -> dict[str, Any]:
    def policy(*seen: Any) -> Any:
        return [0.5, 0.5]

    return run(
        code,
        {
            "CarEnv": Point2D,
            "FlatGoalEnv": FlatGoalEnv,
            "ImageEnv": ImageEnv,
            "LidarEnv": LidarEnv,
            "LanguageEnv": LanguageEnv,
            "policy_that_takes_in_vector": policy,
            "policy_that_takes_in_two_vectors": policy,
            "action": [0.5, 0.5],
        },
    )


def test_a_goal_environment() -> None:
    found = page(
        """
        env = CarEnv()
        obs, _ = env.reset()
        next_obs, reward, terminated, truncated, info = env.step(action)
        """
    )
    assert set(STATE) <= set(found["next_obs"])


def test_a_flat_environment_shows_no_goal() -> None:
    found = page(
        """
        base_env = CarEnv()
        env = FlatGoalEnv(base_env, obs_key='observation')
        obs, _ = env.reset()  # returns just the 'observation'
        action = policy_that_takes_in_vector(obs)
        """
    )
    assert found["obs"].shape == (2,)


def test_the_goal_is_asked_for() -> None:
    found = page(
        """
        base_env = CarEnv()
        env = FlatGoalEnv(base_env, obs_key='observation')
        obs, _ = env.reset()  # returns just the 'observation'
        goal = env.get_goal()
        action = policy_that_takes_in_two_vectors(obs, goal)
        """
    )
    assert found["goal"].shape == (2,)


def test_the_goal_is_appended_once() -> None:
    found = page(
        """
        base_env = CarEnv()
        env = FlatGoalEnv(
            base_env,
            obs_key=['observation', 'desired_goal'],
            append_goal_to_obs=True,  # default value is False
        )
        obs, _ = env.reset()  # returns 'observation' concatenated to `desired_goal`
        action = policy_that_takes_in_vector(obs)
        """
    )
    assert found["obs"].shape == (4,)
    assert found["obs"][2:].tolist() == found["env"].get_goal().tolist()


def test_images_stand_beside_the_state() -> None:
    found = page(
        """
        base_env = CarEnv()
        env = ImageEnv(base_env)
        obs, _ = env.reset()
        """
    )
    keys = {prefix + name for prefix in ("", "image_", "state_") for name in STATE}
    assert set(found["obs"]) == keys


STATE_AND_IMAGE = """
base_env = CarEnv()
wrapped_env = ImageEnv(base_env)
env = FlatGoalEnv(
    base_env,
    obs_key='state_observation',
    goal_key='image_desired_goal',
)
"""


def test_states_are_seen_and_images_are_goals() -> None:
    """The page gives FlatGoalEnv the environment that has no images."""
    with raises(UnknownName, got="image_desired_goal"):
        page(STATE_AND_IMAGE)
    found = page(STATE_AND_IMAGE.replace("    base_env,", "    wrapped_env,"))
    assert found["env"].reset(seed=0)[0].shape == (2,)
    assert found["env"].get_goal().shape == (84 * 84 * 3,)


def test_modalities_are_stacked() -> None:
    found = page(
        """
        base_env = CarEnv()
        wrapped_env = ImageEnv(base_env)
        wrapped_env = LidarEnv(wrapped_env)
        wrapped_env = LanguageEnv(wrapped_env)
        env = FlatGoalEnv(
            wrapped_env,  # the page: base_env
            obs_key=['image_observation', 'lidar_observation'],
            goal_key=['language_desired_goal', 'image_desired_goal'],
        )
        obs, _ = env.reset()  # image + lidar observation
        goal = env.get_goal()  # language + image goal
        """
    )
    assert found["obs"].shape == found["goal"].shape == (84 * 84 * 3 + 1,)
    assert (found["obs"][-1], found["goal"][0]) == (7, 7)


def test_a_fixed_goal_is_not_drawn_anew() -> None:
    found = page("env = CarEnv(fixed_goal=(1, 2))")
    goals = [found["env"].reset(seed=seed)[0]["desired_goal"].tolist() for seed in range(3)]
    assert goals == [[1, 2]] * 3


def test_diagnostics_are_of_rollouts_with_six_keys() -> None:
    env = Point2D()
    observation, _ = env.reset(seed=0)
    steps = [(observation, *env.step((1, 0)))]
    steps.append((steps[-1][1], *env.step((0, 1))))
    seen, after, rewards, terminals, _, infos = zip(*steps, strict=True)
    rollout = {
        "observations": np.array(seen),
        "actions": np.array([(1, 0), (0, 1)]),
        "next_observations": np.array(after),
        "rewards": np.array(rewards),
        "terminals": np.array(terminals),
        "env_infos": list(infos),
    }
    found = env.get_diagnostics([rollout])
    assert isinstance(found, OrderedDict)
    assert found["Final distance_to_target Mean"] == infos[-1]["distance_to_target"]
