"""A model plays a task of the spaces that it was made for, and no other."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces

from env_adapters.gymnasium import suite_of
from reglue.agents.model_agent import ModelAgent
from reglue.errors import NotAnAgent
from reglue.spec import TaskSpec
from tests.error_facts import raises

PICTURE = spaces.Box(0, 255, (8, 6, 3), np.uint8)
PULL = spaces.Box(-4, 4, (1,), np.float32)
SEEN = spaces.Box(-10, 10, (2,), np.float32)
TWO = spaces.Dict(seen=SEEN, more=spaces.Discrete(3))
MASKED = spaces.Dict(seen=SEEN, action_mask=spaces.MultiBinary(5))


class Model:
    """Has the `predict` of Stable-Baselines3, and spaces."""

    def __init__(self, observation_space: Any, action_space: Any) -> None:
        self.observation_space, self.action_space = observation_space, action_space

    def predict(
        self, observation: Any, state: Any = None, episode_start: Any = None, deterministic: Any = 0
    ) -> Any:
        raise AssertionError("it is not asked")


class Masked(Model):
    """Has that of sb3-contrib's MaskablePPO."""

    def predict(
        self,
        observation: Any,
        state: Any = None,
        episode_start: Any = None,
        deterministic: Any = 0,
        action_masks: Any = None,
    ) -> Any:
        raise AssertionError("it is not asked")


def task(observation_space: Any, action_space: Any) -> TaskSpec:
    env: Any = gymnasium.Env()
    env.observation_space, env.action_space = observation_space, action_space
    suite = suite_of(env)
    assert suite is not None
    return suite.spec


def box(low: Any, high: Any, shape: tuple[int, ...] = (2,), dtype: Any = np.float32) -> Any:
    return spaces.Box(low, high, shape, dtype)


def bounds(*each: float) -> Any:
    return np.array(each, np.float32)


@pytest.mark.parametrize(
    ("made_for", "own"),
    [
        (box(-1, 1, (1,)), PULL),  # RescaleAction
        (spaces.Discrete(2), spaces.Discrete(3)),
        (spaces.Discrete(4), spaces.Discrete(3)),
        (spaces.Discrete(3, start=-1), spaces.Discrete(3)),
        (spaces.Discrete(3), PULL),
        (box(-4, 4, (1,), np.float64), PULL),
        (spaces.MultiDiscrete([2, 3]), spaces.MultiDiscrete([3, 2])),
        (spaces.MultiBinary(3), spaces.MultiDiscrete([2, 2, 2])),
    ],
    ids=repr,
)
def test_a_model_of_other_actions_is_refused_and_both_spaces_are_named(
    made_for: Any, own: Any
) -> None:
    with raises(NotAnAgent, "action", "function", got=f"a model of {made_for}"):
        ModelAgent(Model(SEEN, made_for)).check_task(task(SEEN, own))
    with raises(NotAnAgent, f"one of {own}"):
        ModelAgent(Model(SEEN, made_for)).check_task(task(SEEN, own))


@pytest.mark.parametrize(
    ("made_for", "own"),
    [
        (box(-np.inf, np.inf), SEEN),  # NormalizeObservation
        (box(-1, 1), SEEN),  # RescaleObservation
        (box(0, 255, (2,), np.uint8), SEEN),
        (box(-np.inf, np.inf), box(-np.inf, np.inf, (2,), np.float64)),
        (spaces.Discrete(2), spaces.Discrete(3)),
        (spaces.Discrete(3), SEEN),
        (SEEN, TWO),
        (TWO, SEEN),
        (spaces.Dict(seen=SEEN), TWO),
        (box(0, 1, (8, 6, 3)), PICTURE),
        (box(0, 255, (6, 8, 3), np.uint8), PICTURE),
        (box(0, 255, (144,), np.uint8), PICTURE),
    ],
    ids=repr,
)
def test_a_model_of_other_observations_is_refused(made_for: Any, own: Any) -> None:
    with raises(NotAnAgent, "observation", "function"):
        ModelAgent(Model(made_for, PULL)).check_task(task(own, PULL))


@pytest.mark.parametrize(
    ("made_for", "own"),
    [
        (SEEN, SEEN),
        (TWO, TWO),
        (spaces.MultiBinary(5), spaces.MultiBinary(5)),
        (box(0, 255, (3, 8, 6), np.uint8), PICTURE),  # VecTransposeImage
        # VecFrameStack repeats a bound, and not the bounds.
        (box(bounds(-1, -1, -2, -2), 3, (4,)), box(bounds(-1, -2, -1, -2), 3, (4,))),
        # Meta-World's own environments declare bounds that Reglue's do not.
        (box(-1, 1), box(-np.inf, np.inf)),
        (None, SEEN),
    ],
    ids=repr,
)
def test_what_stable_baselines3_makes_of_observations_itself_is_no_difference(
    made_for: Any, own: Any
) -> None:
    ModelAgent(Model(made_for, PULL)).check_task(task(own, PULL))


def test_pictures_that_vec_normalize_gives_other_bounds_are_no_difference() -> None:
    class Normalized(Model):
        def get_vec_normalize_env(self) -> Any:
            class VecNormalize:
                clip_obs = 10.0

            return VecNormalize()

    ModelAgent(Normalized(box(-10, 10, (8, 6, 3)), PULL)).check_task(task(PICTURE, PULL))
    with raises(NotAnAgent, "observation"):
        ModelAgent(Normalized(box(-9, 9, (8, 6, 3)), PULL)).check_task(task(PICTURE, PULL))


def test_a_model_that_wants_masks_needs_them_among_the_observations() -> None:
    five = spaces.Discrete(5)
    with raises(NotAnAgent, "action_mask", got="a model whose predict() takes action_masks"):
        ModelAgent(Masked(SEEN, five)).check_task(task(SEEN, five))
    for made_for in (MASKED, SEEN, spaces.Dict(seen=SEEN)):
        ModelAgent(Masked(made_for, five)).check_task(task(MASKED, five))
    with raises(NotAnAgent, "observation"):
        ModelAgent(Model(SEEN, five)).check_task(task(MASKED, five))


def test_a_predict_that_needs_more_is_refused() -> None:
    class Needy(Model):
        def predict(  # type: ignore[override]
            self,
            observation: Any,
            state: Any,
            episode_start: Any,
            deterministic: Any,
            goal: Any,
        ) -> Any:
            raise AssertionError("it is not asked")

    with raises(NotAnAgent, "Needy", got="predict() that needs goal"):
        ModelAgent(Needy(SEEN, PULL))
