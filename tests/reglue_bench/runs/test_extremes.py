"""Extreme actions are played as agents would play them, and what fails is named."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from reglue import Box, Discrete, MultiBinary, MultiDiscrete, TensorSpec
from reglue_bench.benchmark.benchmark import make_plan
from reglue_bench.runs.extremes import Failure, _corners, failure_text, failures
from reglue_bench.settings import read_settings

FILE = """
import os

import gymnasium as gym
import numpy as np


class Plain(gym.Env):
    observation_space = gym.spaces.Box(-1, 1, (1,), np.float64)
    action_space = gym.spaces.Box(-1, 1, (2,), np.float64)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        return np.zeros(1), {}

    def step(self, action):
        return np.zeros(1), self.reward(action), False, False, {}

    def reward(self, action):
        return -float(np.square(np.clip(action, -1, 1)).sum())


class Costly(Plain):
    action_space = gym.spaces.Box(-np.inf, np.inf, (2,), np.float64)

    def reward(self, action):
        return -float(np.square(1e10 * action).sum())


class Dear(Costly):
    def reward(self, action):
        return -1e-5 * float(np.abs(action).max())


class Generous(Dear):
    def reward(self, action):
        return -super().reward(action)


class Illegal(Plain):
    action_space = gym.spaces.MultiDiscrete([3, 7])

    def reward(self, action):
        if list(action) == [0, 6]:
            raise ValueError("illegal move")
        return 0.0


class Full(Plain):
    action_space = gym.spaces.Discrete(5)

    def reward(self, action):
        if action == 4:
            raise ValueError("the square is taken")
        return 0.0


class Crashes(Full):
    def reward(self, action):
        if action == 4:
            os.abort()
        return 0.0
"""


def found(folder: Path, environment: str, **options: Any) -> list[Failure]:
    (folder / "own.py").write_text(FILE)
    asked = {"benchmark": f"evaluate:{environment}", "directory": str(folder), "workers": 0}
    settings = read_settings(**asked | options)
    return failures(make_plan(settings), settings, folder)


def test_who_plays_them_all_is_not_named(tmp_path: Path) -> None:
    assert found(tmp_path, "own.py:Plain") == []
    assert found(tmp_path, "gymnasium:CartPole-v1") == []


def test_a_reward_that_is_not_finite_is_found_with_its_action(tmp_path: Path) -> None:
    failure, *_ = found(tmp_path, "own.py:Costly")
    assert failure.step == 1
    assert "e+308" in failure.action
    assert "-inf" in failure.error


@pytest.mark.parametrize(
    ("environment", "sign"),
    [("own.py:Dear", -1), ("own.py:Generous", 1), ("gymnasium:Humanoid-v5", -1)],
)
def test_an_absurd_return_is_found_although_it_is_finite(
    tmp_path: Path, environment: str, sign: int
) -> None:
    failed = found(tmp_path, environment)
    returns = [float(each.error.removeprefix("its return: got ")) for each in failed]
    assert 1e31 < max(sign * each for each in returns) < np.inf
    assert failed[0].action.startswith("action = [")
    assert "wanted returns within ±1e+30" in failure_text(failed)


def test_hopper_is_found(tmp_path: Path) -> None:
    """Its control cost is a square: Gymnasium clips no action of a MuJoCo environment."""
    assert "-inf" in found(tmp_path, "gymnasium:Hopper-v5")[0].error


def test_the_last_of_discrete_actions_is_played(tmp_path: Path) -> None:
    failure, *_ = found(tmp_path, "own.py:Full")
    assert (failure.action, failure.error) == ("action = 4", "ValueError: the square is taken")


def test_mixtures_of_extremes_are_played(tmp_path: Path) -> None:
    failure, *_ = found(tmp_path, "own.py:Illegal")
    assert failure.action == "action = [0, 6]"


@pytest.mark.slow
def test_a_process_that_dies_is_found(tmp_path: Path) -> None:
    failure, *_ = found(tmp_path, "own.py:Crashes", workers=1)
    assert failure.action == "action = 4"


@pytest.mark.parametrize(
    ("tensor", "corners"),
    [
        (TensorSpec("a", "int64", (1,), Box((-3.0,), ())), [-3, 2**63 - 1, -(2**63), 2**63 - 1]),
        (TensorSpec("a", "uint8", (1,), Box((2.0,), (300.0,))), [2, 255, 0, 255]),
        (TensorSpec("a", "bool", (1,), Box()), [0, 1, 0, 1]),
        (TensorSpec("a", "int8", (1,), Discrete(5, -2)), [-2, 2, -2, 2]),
        (TensorSpec("a", "int32", (1,), MultiDiscrete((4,))), [0, 3, 0, 3]),
        (TensorSpec("a", "int8", (1,), MultiBinary()), [0, 1, 0, 1]),
    ],
)
def test_corners_are_what_agents_may_send(tensor: TensorSpec, corners: list[int]) -> None:
    """Exactly, also where a float64 holds no such integer."""
    assert _corners(tensor).ravel().tolist() == corners


def test_corners_of_floats_are_finite() -> None:
    corners = _corners(TensorSpec("a", "float32", (2,), Box((-1.0, -np.inf), (1.0, np.inf))))
    most = float(np.finfo(np.float32).max)
    assert corners.tolist() == [[-1, -most], [1, most], [-most, -most], [most, most]]
