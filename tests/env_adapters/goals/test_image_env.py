"""Images of the observation and of goals, beside the state."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

from env_adapters.goals import FlatGoalEnv, GoalEnvironment, ImageEnv, Point2D
from reglue.errors import BadArgument, UnknownName, UsageError
from tests.env_adapters.goals.cases import CASES
from tests.error_facts import raises

NAMES = CASES["names of an ImageEnv"]
IMAGES = ("observation", "desired_goal", "achieved_goal")


def images(**options: Any) -> ImageEnv:
    """Of a point at the origin that is to go to (1, 2), after a reset."""
    point = Point2D(randomize_position_on_reset=False, fixed_goal=(1, 2))
    env = ImageEnv(point, 20, **options)
    env.reset(seed=0)
    return env


@pytest.mark.filterwarnings("ignore:.*is different from the unwrapped version")
@pytest.mark.parametrize("options", [{}, {"normalize": True, "transpose": True, "flat": False}])
def test_gymnasiums_checker_passes(options: dict[str, Any]) -> None:
    check_env(ImageEnv(Point2D(), 8, **options), skip_render_check=True)


@pytest.mark.filterwarnings("ignore:.*is different from the unwrapped version")
def test_gymnasium_makes_it_again_from_its_spec() -> None:
    env = ImageEnv(gymnasium.make("Reglue/Point2D-v0", fixed_goal=(1, 2)), 8, normalize=True)
    check_env(env, skip_render_check=True)
    again: Any = gymnasium.make(env.spec)  # type: ignore[arg-type]
    wanted, got = env.reset(seed=3)[0], again.reset(seed=3)[0]
    assert {name: array.tolist() for name, array in wanted.items()} == {
        name: array.tolist() for name, array in got.items()
    }


def test_images_take_the_plain_places_and_stand_beside_the_state() -> None:
    env = images()
    observation, _ = env.reset()
    assert env.observation_space.contains(observation)
    assert sorted(observation) == NAMES["keys"]
    for name in IMAGES:
        assert (observation[name] == observation[f"image_{name}"]).all()
        assert observation[name].shape == (20 * 20 * 3,)
    assert observation["state_observation"].tolist() == [0, 0]
    assert observation["state_desired_goal"].tolist() == [1, 2]
    assert sorted(env.get_goal()) == NAMES["goal"]
    assert sorted(env.step((0, 0))[4]) == NAMES["info"]


@pytest.mark.parametrize(
    ("options", "shape", "dtype"),
    [
        ({}, (1200,), np.uint8),
        ({"normalize": True}, (1200,), np.float64),
        ({"flat": False}, (20, 20, 3), np.uint8),
        ({"flat": False, "transpose": True}, (3, 20, 20), np.uint8),
    ],
)
def test_an_image_has_the_form_that_is_asked_for(
    options: dict[str, Any], shape: tuple[int, ...], dtype: Any
) -> None:
    env = images(**options)
    observation = env.step((0, 0))[0]
    assert env.observation_space.contains(observation)
    assert (observation["observation"].shape, observation["observation"].dtype) == (shape, dtype)
    drawn = Point2D().get_image(20).astype(np.float64)
    drawn = drawn / 255 if "normalize" in options else drawn
    drawn = drawn.transpose(2, 0, 1) if "transpose" in options else drawn
    assert (observation["observation"].ravel() == drawn.ravel()).all()


def test_the_goals_image_is_what_is_seen_once_there() -> None:
    env = images()
    wanted = env.get_goal()["image_desired_goal"]
    env.step((1, 1))
    observation, _, _, _, info = env.step((0, 1))
    assert (observation["image_observation"] == wanted).all()
    assert (info["image_dist"], info["image_success"]) == (0, 0)


def test_distances_of_images_do_not_wrap() -> None:
    env = images()
    observation, reward, _, _, info = env.step((0, 0))
    seen = observation["achieved_goal"].astype(np.float64)
    apart = np.linalg.norm(seen - observation["desired_goal"])
    wrapped = np.linalg.norm(observation["achieved_goal"] - observation["desired_goal"])
    assert info["image_dist"] == pytest.approx(apart)
    assert apart > wrapped
    assert info["image_success"] == -1
    assert reward == -np.sqrt(5)


def test_the_image_of_another_goal_is_drawn_anew() -> None:
    env = images()
    before = env.get_goal()["image_desired_goal"]
    env.set_goal({"state_desired_goal": (-3, 0)})
    observation = env.step((0, 0))[0]
    assert observation["state_desired_goal"].tolist() == [-3, 0]
    assert (observation["image_desired_goal"] == env.get_goal()["image_desired_goal"]).all()
    assert (observation["image_desired_goal"] != before).any()


def test_looking_changes_nothing() -> None:
    plain, seen = Point2D(), ImageEnv(Point2D(), 8)
    for step in range(20):
        action = np.array([np.sin(step), np.cos(step)])
        one = plain.reset(seed=3) if step % 9 == 0 else plain.step(action)
        other = seen.reset(seed=3) if step % 9 == 0 else seen.step(action)
        seen.sample_goals(0)
        state = {name: other[0][f"state_{name}"].tolist() for name in IMAGES}
        assert state == {name: one[0][name].tolist() for name in IMAGES}


def test_sampled_goals_have_images() -> None:
    env = ImageEnv(Point2D(), 8)
    env.reset(seed=0)
    goals = env.sample_goals(3)
    assert goals["desired_goal"].shape == goals["image_desired_goal"].shape == (3, 192)
    env.set_goal({name: rows[2] for name, rows in goals.items()})
    assert (env.get_goal()["desired_goal"] == goals["desired_goal"][2]).all()
    fixed = images().sample_goals(2)
    assert fixed["state_desired_goal"].tolist() == [[1, 2], [1, 2]]


def test_rewards_are_of_states_or_of_images() -> None:
    env = images()
    observation, reward, _, _, info = env.step((1, 0))
    assert env.compute_reward(np.zeros(2), observation) == reward == -2
    far = images(reward_type="image_distance")
    assert far.step((1, 0))[1] == -info["image_dist"] == far.compute_reward(None, observation)
    sparse = images(reward_type="image_sparse")
    assert sparse.step((1, 0))[1] == -1
    achieved, desired = observation["achieved_goal"], observation["desired_goal"]
    two = np.stack([achieved, desired]), np.stack([desired, desired])
    assert far.compute_rewards(*two, {}).tolist() == [-info["image_dist"], 0]
    assert sparse.compute_reward(*two, {}).tolist() == [-1, 0]


def test_states_are_no_images_and_images_no_states() -> None:
    image, state = np.zeros(1200, np.uint8), np.zeros(2)
    with raises(BadArgument, "goals", "(…, 2)"):
        images().compute_reward(image, image, {})
    with raises(BadArgument, "images", (2,)):
        images(reward_type="image_distance").compute_reward(state, state, {})
    with raises(BadArgument, "['image_desired_goal']", "state_desired_goal"):
        images().set_goal({"image_desired_goal": image})


def test_what_cannot_be_is_refused_at_construction() -> None:
    with raises(UnknownName, "image_sparse", got="image_sparce"):
        ImageEnv(Point2D(), reward_type="image_sparce")
    with raises(BadArgument, got="imsize 0"):
        ImageEnv(Point2D(), 0)
    with raises(BadArgument, got="threshold nan"):
        ImageEnv(Point2D(), threshold=np.nan)
    with raises(BadArgument, got=3):
        ImageEnv(3)  # type: ignore[arg-type]
    with raises(UsageError, "get_image"):
        ImageEnv(GoalEnvironment())


def test_states_are_seen_and_goals_are_images_in_one_line() -> None:
    env = FlatGoalEnv(
        ImageEnv(Point2D(), 8), obs_key="state_observation", goal_key="image_desired_goal"
    )
    assert env.reset(seed=0)[0].shape == (2,)
    assert env.get_goal().shape == (192,)
    assert env.get_goal().dtype == np.uint8


@pytest.mark.parametrize("size", range(3, 14))
def test_no_picture_of_a_goal_is_blank(size: int) -> None:
    """Also where it is at the corner of four pixels; else all goals would look achieved."""
    corner = 4.5 - 9 / size
    point = Point2D(
        randomize_position_on_reset=False,
        fixed_init_position=(corner, corner),
        fixed_goal=(-corner, -corner),
    )
    env = ImageEnv(point, size, reward_type="image_sparse")
    env.reset(seed=1)
    observation, reward, _, _, info = env.step((0, 0))
    for name in IMAGES:
        assert (observation[name].reshape(size, size, 3) == (0, 0, 255)).all(-1).any()
    assert reward == info["image_success"] == -1
    assert info["image_dist"] >= 255


def test_image_distances_are_multiworlds_but_do_not_wrap() -> None:
    name = "image_dist of the point at (1, 0) and the goal (1, 2), 8 by 8, normalized"
    point = Point2D(randomize_position_on_reset=False, fixed_goal=(1, 2))
    for normalize, wanted in ((True, CASES[name]), (False, 255 * CASES[name])):
        env = ImageEnv(point, 8, normalize=normalize, transpose=True)
        env.reset(seed=0)
        info = env.step((1, 0))[4]
        assert info["image_dist"] == wanted
        assert info["image_success"] == (0 if wanted < 10 else -1)


def presampled(number: int = 4, **options: Any) -> tuple[dict[str, Any], ImageEnv]:
    """Goals with pictures of a colour each, which nobody draws, and what chooses from them."""
    images = np.arange(number, dtype=np.uint8)[:, None] + np.zeros((1, 192), np.uint8)
    states = np.linspace(-3, 3, 2 * number).reshape(number, 2)
    goals = {"desired_goal": images, "image_desired_goal": images, "state_desired_goal": states}
    return goals, ImageEnv(Point2D(**options), 8, presampled_goals=goals)


def test_presampled_goals_are_those_of_resets_and_samples() -> None:
    goals, env = presampled()
    assert env.num_goals_presampled == 4
    met = set()
    for seed in range(20):
        seen = env.reset(seed=seed)[0]
        k = int(seen["desired_goal"][0])
        met.add(k)
        for observation in (seen, env.step((1, 0))[0], env.get_goal()):
            for name, rows in goals.items():
                assert (observation[name] == rows[k]).all()
        assert (seen["desired_goal"] == env.reset(seed=seed)[0]["desired_goal"]).all()
    assert met == {0, 1, 2, 3}
    drawn = env.sample_goals(30)
    assert set(drawn["desired_goal"][:, 0]) == met
    assert (
        drawn["state_desired_goal"]
        == goals["state_desired_goal"][drawn["image_desired_goal"][:, 0]]
    ).all()
    env.set_goal((0, 0))
    assert env.get_goal()["desired_goal"].max() == 255  # another's is drawn


def test_what_is_sampled_once_can_be_given_as_presampled_goals() -> None:
    first = ImageEnv(Point2D(), 8)
    first.reset(seed=0)
    goals = first.sample_goals(5)
    env = ImageEnv(Point2D(), 8, presampled_goals=goals)
    seen = env.reset(seed=2)[0]
    assert seen["state_desired_goal"].tolist() in goals["state_desired_goal"].tolist()
    assert env.observation_space.contains(seen)


def test_a_fixed_goal_is_stronger_than_presampled_ones() -> None:
    _, env = presampled(fixed_goal=(1, 2))
    assert env.reset(seed=0)[0]["state_desired_goal"].tolist() == [1, 2]
    assert env.sample_goals(2)["state_desired_goal"].tolist() == [[1, 2], [1, 2]]


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"image_desired_goal": None}, ["image_desired_goal"]),
        ({"state_desired_goal": np.zeros((4, 3))}, ["state_desired_goal", (4, 3)]),
        ({"state_desired_goal": np.full((4, 2), 9.0)}, ["state_desired_goal", "Box"]),
        ({"state_desired_goal": np.zeros((3, 2))}, ["3 states", "4 images"]),
        ({"image_desired_goal": np.zeros((0, 192))}, ["image_desired_goal", (0, 192)]),
    ],
)
def test_presampled_goals_that_do_not_fit_are_refused(
    change: dict[str, Any], named: list[object]
) -> None:
    goals, _ = presampled()
    given = {name: rows for name, rows in {**goals, **change}.items() if rows is not None}
    with raises(BadArgument, *named):
        ImageEnv(Point2D(), 8, presampled_goals=given)
