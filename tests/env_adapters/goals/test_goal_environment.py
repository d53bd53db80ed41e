"""The methods that a goal environment of one's own must write, and those that it may omit."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from env_adapters.goals import GoalEnvironment
from reglue.errors import BadArgument, UsageError
from tests.error_facts import raises


@pytest.mark.parametrize(
    "use",
    [
        lambda env: env.get_goal(),
        lambda env: env.sample_goals(1),
        lambda env: env.compute_reward(np.zeros(2), np.zeros(2), {}),
    ],
)
def test_what_must_be_written_is_missed(use: Callable[[GoalEnvironment], Any]) -> None:
    with pytest.raises(NotImplementedError):
        use(GoalEnvironment())


@pytest.mark.parametrize(
    ("use", "named"),
    [
        (lambda env: env.set_goal(np.zeros(2)), "set_goal"),
        (lambda env: env.check_images(8), "get_image"),
        (lambda env: env.get_image(8), "get_image"),
    ],
)
def test_what_is_left_out_is_named(use: Callable[[GoalEnvironment], Any], named: str) -> None:
    with raises(UsageError, named):
        use(GoalEnvironment())


def test_an_episode_does_not_end_by_its_goal_unless_it_says_so() -> None:
    env, goal = GoalEnvironment(), np.zeros(2)
    assert env.compute_terminated(goal, goal, {}) is env.compute_truncated(goal, goal, {}) is False


def test_rewards_have_two_conventions() -> None:
    with raises(BadArgument, "(action, observation)", got="1 arguments"):
        GoalEnvironment().compute_reward(np.zeros(2))
