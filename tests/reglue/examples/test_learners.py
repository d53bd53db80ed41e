"""The common behaviour of Sarsa and Q-learning."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from reglue.agents.agent import Agent
from reglue.errors import NotAnAgent, UsageError
from reglue.examples.sarsa import Sarsa
from reglue.examples.tabular_q import TabularQ
from reglue.messages.agent_messages import EndKind
from reglue.spec import (
    Box,
    Discrete,
    MultiDiscrete,
    TaskSpec,
    TensorSpec,
)
from tests.error_facts import raises
from tests.reglue.examples.lessons import MOVE, PLACE, Learner, begin, everything, turn, walk

both = pytest.mark.parametrize("learner", [Sarsa, TabularQ])


@both
def test_a_terminal_reward_is_all_that_is_learned_of_the_last_action(
    learner: Callable[..., Learner],
) -> None:
    agent = begin(learner(alpha=0.25), walk())
    (action,) = turn(agent, starts={0: 4})
    turn(agent, ends=[(0, 8.0, 5)])
    assert everything(agent)[4][action] == 2.0
    assert np.count_nonzero(everything(agent)) == 1


@both
def test_a_truncated_episode_is_learned_from_what_could_have_come(
    learner: Callable[..., Learner],
) -> None:
    agent = begin(learner(alpha=0.5, epsilon=0.0), walk(discount=0.5))
    (lucky,) = turn(agent, starts={0: 5})
    turn(agent, ends=[(0, 8.0, 9)])  # 5 is worth 4 by its lucky action
    (action,) = turn(agent, starts={0: 4})
    turn(agent, ends=[(0, 1.0, 5)], kind=EndKind.TRUNCATED)
    assert everything(agent)[5][lucky] == 4.0
    assert everything(agent)[4][action] == 0.5 * (1.0 + 0.5 * 4.0)


@both
def test_a_void_episode_teaches_nothing(learner: Callable[..., Learner]) -> None:
    agent = begin(learner(), walk())
    turn(agent, starts={0: 4})
    turn(agent, ends=[(0, 8.0, 5)], kind=EndKind.VOID)
    assert not np.any(everything(agent))


@both
def test_a_frozen_agent_learns_nothing_and_takes_the_best_action(
    learner: Callable[..., Learner],
) -> None:
    agent = begin(learner(epsilon=1.0), walk())
    (good,) = turn(agent, starts={0: 4})
    turn(agent, ends=[(0, 8.0, 5)])
    agent.agent_freeze()
    before = everything(agent)
    for seed in range(20):
        assert turn(agent, starts={0: 4}, seed=seed) == [good]
        assert turn(agent, steps=[(0, -50.0, 4)]) == [good]
        turn(agent, ends=[(0, -50.0, 5)], kind=EndKind(1 + seed % 2))
    assert everything(agent) == before


@both
def test_a_second_init_makes_the_same_naive_agent(learner: Callable[..., Learner]) -> None:
    agent = begin(learner(epsilon=0.5), walk())
    lives = []
    for _ in range(2):
        begin(agent, walk())
        lives.append((some_life(agent), everything(agent)))
        agent.agent_freeze()
    assert lives[0] == lives[1]


@both
def test_actions_are_the_same_whatever_the_slot(learner: Callable[..., Learner]) -> None:
    lives = [some_life(begin(learner(epsilon=0.5), walk(slots=4)), slot) for slot in (0, 3)]
    assert lives[0] == lives[1]


def some_life(agent: Agent, slot: int = 0) -> list[int]:
    """Five episodes of a walk whose reward is the action."""
    actions = []
    for episode in range(5):
        actions += turn(agent, starts={slot: episode})
        for step in range(6):
            actions += turn(agent, steps=[(slot, actions[-1] - 1.0, (3 * step + episode) % 10)])
        turn(agent, ends=[(slot, actions[-1] - 1.0, 9)])
    return actions


@both
def test_another_seed_explores_otherwise(learner: Callable[..., Learner]) -> None:
    agent = begin(learner(epsilon=1.0), walk())
    assert {turn(agent, starts={0: 4}, seed=seed)[0] for seed in range(50)} == {0, 1, 2}


@both
def test_actions_count_from_their_start(learner: Callable[..., Learner]) -> None:
    action = TensorSpec("action", "int32", (), Discrete(2, start=5))
    agent = begin(learner(epsilon=1.0), walk(action))
    seen = [turn(agent, starts={0: 4}, seed=seed)[0] for seed in range(20)]
    seen += [turn(agent, steps=[(0, 0.0, 4)])[0] for _ in range(20)]
    assert set(seen) == {5, 6}


@both
def test_a_start_on_a_live_slot_forgets_the_episode_that_was_there(
    learner: Callable[..., Learner],
) -> None:
    agent = begin(learner(), walk())
    turn(agent, starts={0: 4})
    turn(agent, steps=[(0, 0.0, 5)])
    (action,) = turn(agent, starts={0: 7})
    turn(agent, ends=[(0, 8.0, 9)])
    changed = [place for place, values in enumerate(everything(agent)) if any(values)]
    assert changed == [7]
    assert everything(agent)[7][action] == 4.0


@both
@pytest.mark.parametrize(
    "action",
    [
        TensorSpec("arm", "float32", (4,), Box((-1.0,), (1.0,))),
        TensorSpec("arm", "int64", (2,), Discrete(3)),
        TensorSpec("arm", "int64", (2,), MultiDiscrete((2, 2))),
    ],
)
def test_a_task_without_a_discrete_action_is_refused(
    learner: Callable[..., Learner], action: TensorSpec
) -> None:
    with raises(NotAnAgent, learner.__name__, "action", f"arm {action.domain}"):
        begin(learner(), walk(action))


@both
def test_a_task_with_two_actions_or_observations_is_refused(
    learner: Callable[..., Learner],
) -> None:
    with raises(NotAnAgent, learner.__name__, "action", "b"):
        begin(learner(), TaskSpec((PLACE,), (MOVE, TensorSpec("b", "int64", (), Discrete(2)))))
    with raises(NotAnAgent, learner.__name__, "observation", "b"):
        begin(learner(), TaskSpec((PLACE, TensorSpec("b", "int64", (), Discrete(2))), (MOVE,)))


@both
def test_learners_say_that_they_do_not_adapt(learner: Callable[..., Learner]) -> None:
    assert not learner().adapts


@pytest.mark.parametrize(
    ("make", "named"),
    [
        (lambda: Sarsa(lambda_=1.5), ["lambda_ 1.5", "0 to 1"]),
        (lambda: Sarsa(epsilon=-0.1), ["epsilon -0.1", "0 to 1"]),
        (lambda: Sarsa(tilings=0), ["0 tilings", "8 tiles", 1]),
        (lambda: TabularQ(epsilon=2), ["epsilon 2", "0 to 1"]),
    ],
)
def test_numbers_out_of_range_are_refused(make: Callable[[], object], named: list[object]) -> None:
    with raises(UsageError, *named):
        make()
