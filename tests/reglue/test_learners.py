"""Sarsa, Q-learning and the constant agent, turn by turn, against the book's boxes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt
import pytest

from reglue.agent import Agent
from reglue.calls import EndKind, Ends, Phase, Starts, Steps, Turn
from reglue.chance import Chance
from reglue.errors import NotAnAgent, UsageError
from reglue.examples.choices import epsilon_greedy
from reglue.examples.constant import Constant
from reglue.examples.sarsa import FAINTEST, Sarsa
from reglue.examples.tabular_q import TabularQ
from reglue.spec import (
    Box,
    Discrete,
    MultiBinary,
    MultiDiscrete,
    TaskSpec,
    TensorSpec,
)

A = TypeVar("A", bound=Agent)
Learner = Sarsa | TabularQ

MOVE = TensorSpec("action", "int64", (), Discrete(3))
PLACE = TensorSpec("observation", "int64", (), Discrete(10))

both = pytest.mark.parametrize("learner", [Sarsa, TabularQ])


def walk(action: TensorSpec = MOVE, *, observation: TensorSpec = PLACE, **more: Any) -> TaskSpec:
    return TaskSpec((observation,), (action,), **more)


def begin(agent: A, spec: TaskSpec) -> A:
    agent.spec, agent.phase = spec, Phase.TRAIN
    agent.agent_init(spec)
    return agent


def turn(
    agent: Agent,
    *,
    ends: Sequence[tuple[int, float, Any]] = (),
    steps: Sequence[tuple[int, float, Any]] = (),
    starts: Mapping[int, Any] | None = None,
    kind: EndKind = EndKind.TERMINATED,
    seed: int = 0,
) -> list[int]:
    """One turn; ends and steps are (slot, reward, observation), starts slot -> observation.

    A start's seed is `seed` plus what is observed. The actions of steps, then of starts.
    """
    starts = starts or {}
    seen = [row for _, _, row in (*ends, *steps)] + [*starts.values()]
    answer = agent.turn(
        Turn(
            agent.phase,
            Ends(_slots(ends), np.full(len(ends), kind, np.uint8)),
            Steps(_slots(steps), np.zeros(len(steps), np.uint8)),
            Starts(
                np.array([*starts], np.uint32),
                np.array([seed + int(np.sum(row)) for row in starts.values()], np.uint64),
            ),
            np.array([reward for _, reward, _ in (*ends, *steps)], np.float64),
            {agent.spec.observations[0].name: np.array(seen)},
        )
    )
    return [int(action) for action in answer]  # type: ignore[union-attr, arg-type]


def _slots(rows: Sequence[tuple[int, float, Any]]) -> npt.NDArray[np.uint32]:
    return np.array([slot for slot, _, _ in rows], np.uint32)


def everything(agent: Learner) -> list[list[float]]:
    """All values of the walk."""
    if isinstance(agent, Sarsa):
        return [agent.values([place]) for place in range(10)]
    return [agent.values(place) for place in range(10)]


# What both do


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
    wanted = f"{learner.__name__} needs one discrete action; this task has arm"
    with pytest.raises(NotAnAgent, match=wanted):
        begin(learner(), walk(action))


@both
def test_a_task_with_two_actions_or_observations_is_refused(
    learner: Callable[..., Learner],
) -> None:
    with pytest.raises(NotAnAgent, match="needs one discrete action"):
        begin(learner(), TaskSpec((PLACE,), (MOVE, TensorSpec("b", "int64", (), Discrete(2)))))
    with pytest.raises(NotAnAgent, match=r"needs one (discrete )?observation"):
        begin(learner(), TaskSpec((PLACE, TensorSpec("b", "int64", (), Discrete(2))), (MOVE,)))


@both
def test_learners_say_that_they_do_not_adapt(learner: Callable[..., Learner]) -> None:
    assert not learner().adapts


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Sarsa(lambda_=1.5), "got lambda_ 1.5, wanted 0 to 1"),
        (lambda: Sarsa(epsilon=-0.1), "got epsilon -0.1, wanted 0 to 1"),
        (lambda: Sarsa(tilings=0), "got 0 tilings of 8 tiles, wanted 1 or more"),
        (lambda: TabularQ(epsilon=2), "got epsilon 2, wanted 0 to 1"),
    ],
)
def test_numbers_out_of_range_are_refused(make: Callable[[], object], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        make()


# Sarsa(λ)


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
    spec, chance = walk(discount=0.9, slots=3), Chance(8)
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
    with pytest.raises(NotAnAgent, match=r"give bounds=\[\[low, high\], …\]"):
        begin(Sarsa(), walk(observation=pole))
    agent = begin(Sarsa(bounds=[[-4.8, 4.8], [-3, 3]]), walk(observation=pole))
    assert turn(agent, starts={0: [0.1, 99.0]})[0] in {0, 1, 2}


# Q-learning


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
    with pytest.raises(NotAnAgent, match=r"one discrete observation; .* seen"):
        begin(TabularQ(), walk(observation=observation))


def test_q_learning_refuses_a_task_that_never_ends_nor_discounts() -> None:
    with pytest.raises(NotAnAgent, match="needs episodes that end, or a discount below 1"):
        begin(TabularQ(), walk(continuing=True))
    begin(TabularQ(), walk(continuing=True, discount=0.9))


# Choosing


def test_ties_are_broken_evenly() -> None:
    chance = Chance(1)
    chosen = [epsilon_greedy([1.0, 0.0, 1.0], chance, 0.0) for _ in range(1000)]
    assert set(chosen) == {0, 2}
    assert 450 < chosen.count(0) < 550


def test_epsilon_of_the_choices_are_any() -> None:
    chance = Chance(1)
    chosen = [epsilon_greedy([1.0, 0.0, 0.0], chance, 0.3) for _ in range(3000)]
    assert 240 < chosen.count(1) < 360
    assert 240 < chosen.count(2) < 360


def test_a_choice_that_is_clear_draws_no_chance() -> None:
    chance = Chance(1)
    epsilon_greedy([1.0, 0.0], chance, 0.0)
    assert chance.to_bytes() == Chance(1).to_bytes()


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
    with pytest.raises(NotAnAgent, match=f"got action=.*, wanted {tensor.name} of shape"):
        begin(Constant(action), walk(tensor))
