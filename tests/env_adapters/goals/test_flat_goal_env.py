"""Dicts as vectors."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

from env_adapters.goals import FlatGoalEnv, Point2D
from reglue.errors import BadArgument, UnknownName, UsageError
from tests.error_facts import raises


def flat(*keys: Any, **options: Any) -> FlatGoalEnv:
    """Around a point at the origin that is to go to (1, 2), after a reset."""
    point = Point2D(randomize_position_on_reset=False, fixed_goal=(1, 2))
    env = FlatGoalEnv(point, *keys, **options)
    env.reset(seed=0)
    return env


@pytest.mark.filterwarnings("ignore:.*is different from the unwrapped version")
def test_gymnasiums_checker_passes() -> None:
    check_env(FlatGoalEnv(Point2D(), append_goal_to_obs=True), skip_render_check=True)


def test_by_default_the_goal_is_apart() -> None:
    env = flat()
    first, _ = env.reset()
    assert first.tolist() == [0, 0]
    assert env.get_goal().tolist() == [1, 2]
    seen, reward, terminated, truncated, _ = env.step((1, 0))
    assert (seen.tolist(), reward, terminated, truncated) == ([1, 0], -2, False, False)
    for space in (env.observation_space, env.goal_space):
        assert space == gymnasium.spaces.Box(-4, 4, (2,), np.float64)


@pytest.mark.parametrize(
    ("options", "observation", "goal"),
    [
        ({"append_goal_to_obs": True}, [0, 0, 1, 2], [1, 2]),
        ({"obs_key": ["observation", "desired_goal"]}, [0, 0, 1, 2], [1, 2]),
        (
            {"obs_key": ["observation", "desired_goal"], "append_goal_to_obs": True},
            [0, 0, 1, 2],
            [1, 2],
        ),
        ({"obs_keys": ("observation", "state_observation")}, [0, 0, 0, 0], [1, 2]),
        ({"goal_keys": ["desired_goal", "state_desired_goal"]}, [0, 0], [1, 2, 1, 2]),
        ({"obs_key": "desired_goal", "goal_key": "state_desired_goal"}, [1, 2], [1, 2]),
    ],
)
def test_keys_are_one_or_several_in_both_spellings(
    options: dict[str, Any], observation: list[float], goal: list[float]
) -> None:
    env = flat(**options)
    assert env.reset()[0].tolist() == observation
    assert env.observation_space.contains(env.reset()[0])
    assert env.get_goal().tolist() == goal


def test_keys_go_by_place_too_as_in_multiworld() -> None:
    env = flat(["observation"], ["desired_goal"], True)
    assert env.reset()[0].tolist() == [0, 0, 1, 2]


def test_the_goal_is_asked_for_and_not_remembered() -> None:
    env = flat()
    env.set_goal((3, 3))
    assert env.get_goal().tolist() == [3, 3]


def test_before_a_reset_there_is_no_goal() -> None:
    with raises(UsageError, "goal", "reset"):
        FlatGoalEnv(Point2D()).get_goal()


@pytest.mark.parametrize(
    ("options", "kind", "named"),
    [
        ({"obs_key": "observatoin"}, UnknownName, ["obs_key", "'observatoin'", "observation"]),
        ({"goal_key": ["goal"]}, UnknownName, ["goal_key", "'goal'"]),
        ({"obs_key": "observation", "obs_keys": "observation"}, BadArgument, ["obs_keys"]),
        ({"obs_key": []}, BadArgument, ["no obs_key"]),
        ({"obs_key": 3}, BadArgument, ["obs_key 3"]),
        ({"goal_key": [["desired_goal"]]}, BadArgument, ["goal_key [['desired_goal']]"]),
    ],
)
def test_keys_that_cannot_be_are_refused_at_construction(
    options: dict[str, Any], kind: type[Exception], named: list[str]
) -> None:
    with raises(kind, *named):
        FlatGoalEnv(Point2D(), **options)


def test_an_environment_without_goals_is_refused() -> None:
    with raises(BadArgument, "CartPole", "Box", "desired_goal"):
        FlatGoalEnv(gymnasium.make("CartPole-v1"))


def test_what_it_does_not_have_is_looked_for_within() -> None:
    env = flat()
    assert env.fixed_goal.tolist() == [1, 2]
    observation = {"achieved_goal": np.zeros(2), "desired_goal": np.array([0, 2])}
    assert env.compute_reward(np.zeros(2), observation) == -2
    with pytest.raises(AttributeError):
        _ = env.no_such_thing


def test_a_registered_environment_is_wrapped_too() -> None:
    env = FlatGoalEnv(gymnasium.make("Reglue/Point2D-v0"), append_goal_to_obs=True)
    assert env.reset(seed=1)[0][2:].tolist() == env.get_goal().tolist()


def test_a_part_of_the_goal_that_get_goal_lacks_is_named() -> None:
    class Said(gymnasium.ObservationWrapper[Any, Any, Any]):
        def __init__(self, env: gymnasium.Env[Any, Any]) -> None:
            super().__init__(env)
            space: Any = env.observation_space
            self.observation_space = gymnasium.spaces.Dict(
                {**space.spaces, "said_desired_goal": space["desired_goal"]}
            )

        def observation(self, observation: Any) -> Any:
            return {**observation, "said_desired_goal": observation["desired_goal"]}

    env = FlatGoalEnv(Said(Point2D()), goal_key="said_desired_goal")
    env.reset(seed=0)
    with raises(UnknownName, "get_goal()", got="said_desired_goal"):
        env.get_goal()


def test_it_is_taken_for_no_environment_with_goals_in_its_observations() -> None:
    """Stable-Baselines3 asks what is unwrapped for compute_reward, and then wants a Dict."""
    env = flat()
    assert not hasattr(env.unwrapped, "compute_reward")
    assert env.unwrapped.fixed_goal.tolist() == [1, 2]
    assert env.unwrapped is env.unwrapped


def test_a_reset_passes_its_seed_and_options_on() -> None:
    class Noting(Point2D):
        def reset(self, **asked: Any) -> Any:
            self.asked = asked
            return super().reset(**asked)

    point = Noting()
    FlatGoalEnv(point).reset(seed=3, options={"of": "the environment"})
    assert point.asked == {"seed": 3, "options": {"of": "the environment"}}
