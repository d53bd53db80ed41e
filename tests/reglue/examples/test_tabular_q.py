"""Tabular Q-learning, turn by turn, against the book's box."""

from __future__ import annotations

import pytest

from reglue.errors import NotAnAgent
from reglue.examples.tabular_q import TabularQ
from reglue.spec import (
    Box,
    MultiDiscrete,
    TensorSpec,
)
from tests.error_facts import raises
from tests.reglue.examples.lessons import begin, turn, walk


def test_q_learning_learns_from_the_best_that_may_follow() -> None:
    agent = begin(TabularQ(alpha=0.5, epsilon=1.0), walk(discount=0.5))
    (lucky,) = turn(agent, starts={0: 5})
    turn(agent, ends=[(0, 8.0, 9)])
    for seed in range(10):  # whatever it tries at 5, that is worth 4
        (action,) = turn(agent, starts={0: 4}, seed=seed)
        before = agent.values(4)[action]
        turn(agent, steps=[(0, 1.0, 5)])
        assert agent.values(4)[action] == before + 0.5 * (1.0 + 0.5 * 4.0 - before)
    assert agent.values(5)[lucky] == 4.0


def test_values_begin_where_they_are_told() -> None:
    agent = begin(TabularQ(alpha=0.5, initial=2.0), walk())
    (action,) = turn(agent, starts={0: 4})
    turn(agent, ends=[(0, 0.0, 9)])
    assert sorted(agent.values(4)) == [1.0, 2.0, 2.0]
    assert agent.values(4)[action] == 1.0


@pytest.mark.parametrize(
    "observation",
    [
        TensorSpec("seen", "float64", (2,), Box((0.0,), (1.0,))),
        TensorSpec("seen", "int64", (2,), MultiDiscrete((2, 2))),
    ],
)
def test_q_learning_refuses_what_is_not_a_number(observation: TensorSpec) -> None:
    with raises(NotAnAgent, "TabularQ", "observation", f"seen {observation.domain}"):
        begin(TabularQ(), walk(observation=observation))


def test_q_learning_refuses_a_task_that_never_ends_nor_discounts() -> None:
    with raises(NotAnAgent, "TabularQ", "discount", 1, "Sarsa"):
        begin(TabularQ(), walk(continuing=True))
    begin(TabularQ(), walk(continuing=True, discount=0.9))
