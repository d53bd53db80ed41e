"""A point that is to go to a goal: multiworld's numbers, Gymnasium's interface."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

from env_adapters.determinism import check_determinism
from env_adapters.goals import Point2D
from env_adapters.gymnasium import Gymnasium
from reglue.errors import BadArgument, UnknownName, UsageError
from tests.env_adapters.goals.cases import CASES
from tests.error_facts import raises


def point(**options: Any) -> Point2D:
    """At the origin, after a reset."""
    env = Point2D(randomize_position_on_reset=False, **options)
    env.reset(seed=0)
    return env


def plain(value: Any) -> Any:
    """Arrays as lists."""
    if isinstance(value, dict):
        return {name: plain(inner) for name, inner in value.items()}
    return value.tolist() if isinstance(value, np.ndarray | np.generic) else value


def test_gymnasiums_checker_passes() -> None:
    check_env(Point2D(), skip_render_check=True)
    check_env(gymnasium.make("Reglue/Point2D-v0", render_mode="rgb_array").unwrapped)


def test_steps_are_multiworlds() -> None:
    wanted = CASES["steps of (1,0), (0,2), (0,1), (-5,0.5) from the origin to (1, 2)"]
    env = Point2D(randomize_position_on_reset=False, fixed_goal=(1, 2))
    assert plain(env.reset(seed=0)[0]) == wanted[0]
    actions = [(1, 0), (0, 2), (0, 1), (-5, 0.5)]
    for action, (observation, reward, done, info) in zip(actions, wanted[1:], strict=True):
        got = env.step(action)
        assert plain(got[0]) == observation
        assert (got[1], got[2], got[3]) == (reward, done, False)
        assert plain(got[4]) == info


def test_the_square_has_walls() -> None:
    env = point()
    wanted = CASES["positions after steps of (1, 1)"]
    assert [env.step((1, 1))[0]["observation"].tolist() for _ in wanted] == wanted


@pytest.mark.parametrize("kind", ["dense", "sparse", "vectorized_dense"])
def test_rewards_are_multiworlds(kind: str) -> None:
    env = point(reward_type=kind)
    batch = {
        "state_achieved_goal": np.array([[1, 1], [1, 1.0]]),
        "state_desired_goal": np.array([[1, 2], [1, 1.5]]),
    }
    rewards = env.compute_rewards(np.zeros((2, 2)), batch)
    wanted = CASES["rewards at (1, 1) of goals (1, 2) and (1, 1.5)"][kind]
    assert rewards.tolist() == wanted
    assert np.signbit(rewards).all()  # of the zeros, too


def test_both_conventions_give_the_same_reward() -> None:
    env = point(fixed_goal=(3, 4))
    observation = env.step((0, 0))[0]
    achieved, desired = observation["achieved_goal"], observation["desired_goal"]
    assert env.compute_reward(np.zeros(2), observation) == -5
    assert env.compute_reward([0, 0], observation) == -5
    assert env.compute_reward(achieved, desired, {}) == -5
    two = np.stack([achieved, desired]), np.stack([desired, desired])
    assert env.compute_reward(*two, [{}, {}]).tolist() == [-5, 0]
    batch = {"achieved_goal": two[0], "desired_goal": two[1]}
    assert env.compute_rewards(np.zeros((2, 2)), batch).tolist() == [-5, 0]


@pytest.mark.parametrize("given", [(), (np.zeros(2),), (np.zeros(2), np.zeros(2)), (1, 2, 3, 4)])
def test_arguments_of_neither_convention_are_refused(given: Any) -> None:
    with raises(BadArgument, got=f"{len(given)} arguments"):
        point().compute_reward(*given)


def test_an_observation_without_goals_is_refused() -> None:
    with raises(BadArgument, "achieved_goal", got=["observation"]):
        point().compute_reward(np.zeros(2), {"observation": np.zeros(2)})


def test_the_goal_is_drawn_before_the_position_and_from_np_random_alone() -> None:
    observation, _ = Point2D().reset(seed=5)
    drawn = (2 * np.random.default_rng(5).random((2, 2)) - 1) * 4
    assert observation["desired_goal"].tolist() == drawn[0].tolist()
    assert observation["observation"].tolist() == drawn[1].tolist()


def test_sampled_goals_are_in_the_square_and_named_twice() -> None:
    env = point()
    goals = env.sample_goals(500)
    assert sorted(goals) == ["desired_goal", "state_desired_goal"]
    assert goals["desired_goal"].shape == (500, 2)
    assert (goals["desired_goal"] == goals["state_desired_goal"]).all()
    assert np.abs(goals["desired_goal"]).max() <= 4
    assert len(np.unique(goals["desired_goal"])) == 1000


def test_a_fixed_goal_is_that_of_every_reset_and_sample() -> None:
    env = Point2D(fixed_goal=(1, 2))
    assert env.sample_goals(2)["desired_goal"].tolist() == [[1, 2], [1, 2]]
    for _ in range(3):
        env.reset()
        assert plain(env.get_goal()) == {"desired_goal": [1, 2], "state_desired_goal": [1, 2]}
    env.set_goal((3, 3))
    assert env.step((0, 0))[0]["desired_goal"].tolist() == [3, 3]
    assert env.reset()[0]["desired_goal"].tolist() == [1, 2]


@pytest.mark.parametrize("form", ["array", "dict", "sample"])
def test_a_goal_is_set_in_each_form_that_it_is_given_in(form: str) -> None:
    env = point()
    goals = env.sample_goals(2)
    row = {name: rows[1] for name, rows in goals.items()}
    env.set_goal({"array": goals["desired_goal"][1], "dict": row, "sample": row}[form])
    assert env.get_goal()["desired_goal"].tolist() == row["desired_goal"].tolist()


@pytest.mark.parametrize(
    "goal", [(5, 0), (0,), (np.nan, 0), "ab", {"image_desired_goal": (0, 0)}, [[0, 0]]]
)
def test_a_goal_outside_its_space_is_refused_and_nothing_changes(goal: Any) -> None:
    env = point(fixed_goal=(1, 2))
    with raises(BadArgument):
        env.set_goal(goal)
    with raises(BadArgument):
        env.fixed_goal = goal
    with raises(BadArgument):
        Point2D(fixed_goal=goal)
    assert env.get_goal()["desired_goal"].tolist() == [1, 2]
    assert env.fixed_goal.tolist() == [1, 2]


def test_what_cannot_be_is_refused_at_construction() -> None:
    with raises(UnknownName, "sparse", got="sparce"):
        Point2D(reward_type="sparce")
    with raises(UnknownName, "reward_type", got=5):
        Point2D(reward_type=5)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("name", "given"),
    [
        ("target_radius", 0),
        ("target_radius", np.nan),
        ("boundary_dist", "4"),
        ("boundary_dist", np.inf),
        ("action_scale", np.nan),
        ("action_scale", None),
        ("randomize_position_on_reset", "no"),
        ("show_goal", 0),
        ("render_size", 0),
        ("render_size", 8.5),
        ("render_mode", "human"),
    ],
)
def test_an_argument_that_cannot_be_is_named(name: str, given: Any) -> None:
    options: dict[str, Any] = {name: given}
    with raises(BadArgument, got=f"{name} {given!r}"):
        Point2D(**options)


def test_numbers_of_numpy_are_numbers() -> None:
    sizes: dict[str, Any] = {"action_scale": np.float32(0.5), "render_size": np.int64(8)}
    env = Point2D(**sizes, render_mode="rgb_array")
    env.reset(seed=0)
    assert env.render().shape == (8, 8, 3)


@pytest.mark.parametrize("n", [-1, 1.5, "2", True])
def test_so_many_goals_cannot_be_drawn(n: Any) -> None:
    with raises(BadArgument, 0, got=f"n {n!r}"):
        point().sample_goals(n)


def test_rewards_of_two_numbers_are_for_scripts_alone() -> None:
    env = point(reward_type="vectorized_dense", fixed_goal=(1, 2))
    reward = env.step((0, 0))[1]
    assert reward.tolist() == [-1, -2]
    assert env.reward_space.contains(reward)
    with raises(BadArgument, "Reglue/Point2D-v0", (2,)):
        Gymnasium("Reglue/Point2D-v0", reward_type="vectorized_dense")


@pytest.mark.parametrize(
    "inside",
    [
        {"position": np.zeros(2)},
        {"position": np.zeros(3), "goal": np.zeros(2)},
        {"position": np.array([np.nan, 0]), "goal": np.zeros(2)},
        {"position": np.zeros(2), "goal": np.array([5.0, 0])},
    ],
)
def test_a_state_that_is_none_is_refused_and_nothing_changes(inside: Any) -> None:
    env = point(fixed_goal=(1, 2))
    before = env.get_inside()
    with raises(BadArgument):
        env.set_inside(inside)
    assert plain(env.get_inside()) == plain(before)


def test_before_a_reset_there_is_neither_goal_nor_step() -> None:
    for ask in (Point2D().get_goal, lambda: Point2D().step((0, 0))):
        with raises(UsageError, "goal", "reset"):
            ask()


@pytest.mark.parametrize("action", [(0, np.nan), (1, 2, 3), "ab", None, {"x": 1}])
def test_what_is_no_action_is_refused(action: Any) -> None:
    with raises(BadArgument, "action"):
        point().step(action)


@pytest.mark.parametrize("goals", [("a", "b"), (np.zeros((3, 2)), np.zeros((2, 2)))])
def test_goals_that_do_not_compare_have_no_reward(goals: Any) -> None:
    with raises(BadArgument, "goals", "(…, 2)"):
        point().compute_reward(*goals, {})


def test_it_draws_the_point_and_the_goal() -> None:
    env = point(fixed_goal=(2, 2), render_mode="rgb_array", render_size=90)
    image = env.render()
    blue, green = (image == (0, 0, 255)).all(-1), (image == (0, 170, 0)).all(-1)
    assert image.shape == (90, 90, 3)
    assert np.argwhere(blue).mean(axis=0).tolist() == [44.5, 44.5]
    assert np.argwhere(green).mean(axis=0).tolist() == [24.5, 64.5]  # up, to the right
    hidden = point(fixed_goal=(2, 2), render_mode="rgb_array", show_goal=False).render()
    assert not (hidden == (0, 170, 0)).all(-1).any()


def test_its_cells_are_played_and_kept_to_the_bit() -> None:
    suite = Gymnasium("Reglue/Point2D-v0")
    assert suite.standardizes
    assert suite.spec.horizon == 50
    check_determinism(suite)


def test_what_gymnasium_makes_has_the_methods_of_a_goal_environment() -> None:
    """As Stable-Baselines3's checker asks for them: on the outside and on the inside."""
    env: Any = gymnasium.make("Reglue/Point2D-v0")
    env.reset(seed=0)
    observation, reward, terminated, truncated, info = env.step(env.action_space.sample())
    goals = observation["achieved_goal"], observation["desired_goal"]
    assert hasattr(env.unwrapped, "compute_reward")
    assert env.compute_reward(*goals, info) == reward
    assert env.compute_terminated(*goals, info) is terminated is False
    assert env.compute_truncated(*goals, info) is truncated is False
    assert env.get_wrapper_attr("compute_reward")(*goals, info) == reward
    two = [np.stack([each, each]) for each in goals]
    assert env.compute_reward(*two, np.array([info, info])).tolist() == [reward, reward]
    again: Any = gymnasium.make(env.spec)
    assert again.get_wrapper_attr("sample_goals")(1)["desired_goal"].shape == (1, 2)
