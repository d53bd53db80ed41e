"""The choice of actions: ε-greedily, or always the same."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from reglue.errors import NotAnAgent
from reglue.examples.choices import epsilon_greedy
from reglue.examples.constant import Constant
from reglue.messages.agent_messages import Starts, Steps
from reglue.rng import Rng
from reglue.spec import (
    Box,
    Discrete,
    MultiBinary,
    MultiDiscrete,
    TensorSpec,
)
from tests.error_facts import raises
from tests.reglue.examples.lessons import MOVE, begin, walk

# Choosing


def test_ties_are_broken_evenly() -> None:
    chance = Rng(1)
    chosen = [epsilon_greedy([1.0, 0.0, 1.0], chance, 0.0) for _ in range(1000)]
    assert set(chosen) == {0, 2}
    assert 450 < chosen.count(0) < 550


def test_epsilon_of_the_choices_are_any() -> None:
    chance = Rng(1)
    chosen = [epsilon_greedy([1.0, 0.0, 0.0], chance, 0.3) for _ in range(3000)]
    assert 240 < chosen.count(1) < 360
    assert 240 < chosen.count(2) < 360


def test_a_choice_that_is_clear_draws_no_chance() -> None:
    chance = Rng(1)
    epsilon_greedy([1.0, 0.0], chance, 0.0)
    assert chance.to_bytes() == Rng(1).to_bytes()


# constant


@pytest.mark.parametrize(
    ("tensor", "action", "rows"),
    [
        (MOVE, 2, [2, 2]),
        (TensorSpec("a", "float32", (2,), Box((-1.0,), (1.0,))), 0.5, [[0.5, 0.5]] * 2),
        (TensorSpec("a", "float32", (2,), Box((-1.0,), (1.0,))), [0.5, 3.0], [[0.5, 3.0]] * 2),
        (TensorSpec("a", "uint8", (2,), MultiBinary()), [0, 1], [[0, 1]] * 2),
        (TensorSpec("a", "int64", (2,), MultiDiscrete((2, 5))), [1, 4], [[1, 4]] * 2),
    ],
)
def test_the_constant_agent_plays_its_action_in_every_slot(
    tensor: TensorSpec, action: Any, rows: list[Any]
) -> None:
    agent = begin(Constant(action), walk(tensor))
    slots = np.array([0, 1], np.uint32)
    first = agent.agent_start({}, Starts(slots, np.zeros(2, np.uint64)))
    later = agent.agent_step(np.zeros(2), {}, Steps(slots, np.zeros(2, np.uint8)))
    for answer in (first, later):
        np.testing.assert_array_equal(answer[tensor.name], np.array(rows, np.float64))


@pytest.mark.parametrize(
    ("tensor", "action"),
    [
        (MOVE, 3),
        (MOVE, -1),
        (MOVE, 0.5),
        (MOVE, [0]),
        (MOVE, "left"),
        (TensorSpec("a", "int64", (), Discrete(2, start=1)), 0),
        (TensorSpec("a", "uint8", (2,), MultiBinary()), 2),
        (TensorSpec("a", "int64", (2,), MultiDiscrete((2, 5))), [2, 0]),
        (TensorSpec("a", "float32", (2,)), [1.0, 2.0, 3.0]),
        (TensorSpec("a", "float32", (2,)), float("nan")),
        (TensorSpec("a", "uint8", (2,)), 256),
    ],
)
def test_the_constant_agent_refuses_what_is_no_action(tensor: TensorSpec, action: Any) -> None:
    with raises(NotAnAgent, tensor.name, tensor.shape, tensor.dtype, got=f"action={action}"):
        begin(Constant(action), walk(tensor))
