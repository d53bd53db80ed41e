"""Sarsa(λ), turn by turn, against the book's boxes."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from reglue.errors import NotAnAgent
from reglue.examples.sarsa import FAINTEST, Sarsa
from reglue.rng import Rng
from reglue.spec import (
    Box,
    TensorSpec,
)
from tests.error_facts import raises
from tests.reglue.examples.lessons import begin, everything, turn, walk


class Box305:
    """The box of page 305 with replacing traces, dense, one-hot features; told the actions."""

    def __init__(self, alpha: float, fade: float, discount: float) -> None:
        self.alpha, self.fade, self.discount = alpha, fade, discount
        self.weights = np.zeros((10, 3))
        self.traces: dict[int, npt.NDArray[np.float64]] = {}
        self.last: dict[int, tuple[int, int]] = {}

    def start(self, slot: int, place: int, action: int) -> None:
        self.traces[slot], self.last[slot] = np.zeros((10, 3)), (place, action)

    def step(self, slot: int, reward: float, place: int | None, action: int = 0) -> None:
        error = reward - self.weights[self.last[slot]]
        self.traces[slot][self.last[slot]] = 1.0
        if place is not None:
            error += self.discount * self.weights[place, action]
            self.last[slot] = (place, action)
        self.weights += self.alpha * error * self.traces[slot]
        self.traces[slot] *= self.fade
        self.traces[slot][self.traces[slot] < FAINTEST] = 0.0


@pytest.mark.parametrize("lambda_", [0.0, 0.6, 0.95])
def test_sarsa_learns_as_the_books_box_in_every_slot(lambda_: float) -> None:
    spec, chance = walk(discount=0.9, slots=3), Rng(8)
    agent = begin(Sarsa(alpha=0.3, lambda_=lambda_, epsilon=0.3), spec)
    box = Box305(0.3, lambda_ * 0.9, 0.9)
    for _ in range(6):
        places = [chance.below(10) for _ in range(3)]
        actions = turn(agent, starts=dict(enumerate(places)))
        for slot in range(3):
            box.start(slot, places[slot], actions[slot])
        for _ in range(15):
            rows = [(slot, chance.uniform(-1, 1), chance.below(10)) for slot in range(3)]
            for row, action in zip(rows, turn(agent, steps=rows), strict=True):
                box.step(*row, action)
        ends = [(slot, chance.uniform(-1, 1), 0) for slot in range(3)]
        turn(agent, ends=ends)
        for slot, reward, _ in ends:
            box.step(slot, reward, None)
        np.testing.assert_allclose(everything(agent), box.weights, rtol=1e-12, atol=1e-14)


def test_an_update_moves_a_tiled_value_by_its_whole_step_size() -> None:
    car = TensorSpec("observation", "float64", (2,), Box((-1.2, -0.07), (0.5, 0.07)))
    agent = begin(Sarsa(alpha=0.5), walk(observation=car))
    (action,) = turn(agent, starts={0: [-0.5, 0.0]})
    turn(agent, ends=[(0, -1.0, [-0.5, 0.0])])
    assert agent.values([-0.5, 0.0])[action] == -0.5
    assert -0.5 < agent.values([-0.4, 0.0])[action] < 0.0
    assert agent.values([0.4, 0.06]) == [0.0, 0.0, 0.0]


def test_a_continuing_task_without_discount_is_learned_in_the_differential_form() -> None:
    """Page 251: δ = R - R̄ + q(S', A') - q(S, A)."""
    agent = begin(Sarsa(alpha=0.5, beta=0.25, lambda_=0.0), walk(continuing=True))
    (action,) = turn(agent, starts={0: 4})
    (then,) = turn(agent, steps=[(0, 8.0, 5)])
    assert agent.average_reward == 2.0
    assert agent.values([4])[action] == 4.0
    turn(agent, steps=[(0, 1.0, 6)])
    assert agent.average_reward == 2.0 + 0.25 * (1.0 - 2.0)
    assert agent.values([5])[then] == 0.5 * (1.0 - 2.0)


@pytest.mark.parametrize("more", [{}, {"continuing": True, "discount": 0.9}])
def test_other_tasks_have_no_average_reward(more: dict[str, Any]) -> None:
    agent = begin(Sarsa(), walk(**more))
    turn(agent, starts={0: 4})
    turn(agent, steps=[(0, 8.0, 5)])
    assert agent.average_reward == 0.0


def test_sarsa_without_bounds_says_how_to_give_them() -> None:
    pole = TensorSpec("observation", "float32", (2,), Box((-4.8, -np.inf), (4.8, np.inf)))
    with raises(NotAnAgent, "observation", "-inf to inf", "bounds=[[low, high], …]"):
        begin(Sarsa(), walk(observation=pole))
    agent = begin(Sarsa(bounds=[[-4.8, 4.8], [-3, 3]]), walk(observation=pole))
    assert turn(agent, starts={0: [0.1, 99.0]})[0] in {0, 1, 2}
