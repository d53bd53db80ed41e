"""Example agents learn the built-in environments, and as fast as the book's do.

Figures are of Sutton & Barto 2018, 2nd edition, as S. Zhang's public reproduction draws
them: a band is what its runs leave open. A figure agrees when its band meets the 95 %
interval of our runs' mean.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pytest
from scipy import stats

from env_adapters import Cell, Suite
from env_adapters.classic.access_control import AccessControl
from env_adapters.classic.gridworld import GridWorld
from env_adapters.classic.mountain_car import MountainCar
from glue_server import EpisodeRunner, Order, Outcome
from reglue import Agent, Phase
from reglue.examples.sarsa import Sarsa
from reglue.examples.tabular_q import TabularQ
from tests.env_adapters.classic.queuing import accept_all, at_random, average_reward, best
from tests.glue_server.playing import glue_of, local

pytestmark = pytest.mark.slow


def play(
    glue: EpisodeRunner, suite: Suite, episodes: int, *, run: int = 0, phase: Phase = Phase.TRAIN
) -> list[Outcome]:
    """The outcomes of a run's episodes, in the order of the plan."""
    (task,) = suite.variants
    orders = iter(
        Order(run, k, Cell(task, 0, run, k, phase), start_seed=(run << 32) + k)
        for k in range(episodes)
    )
    outcomes = glue.play(lambda slot: next(orders, None), phase)
    return sorted(outcomes, key=lambda outcome: outcome.order.k)


def learned(agent: Agent, suite: Suite, episodes: int, slots: int = 1) -> EpisodeRunner:
    """The glue of an agent that has learned, and is frozen."""
    glue, _ = glue_of(agent, local(suite, slots))
    play(glue, suite, episodes)
    glue.freeze()
    return glue


# Mountain car, and the figures


@dataclass(frozen=True)
class Reading:
    """Mean steps of episodes `first` to `last`, as a figure shows it."""

    first: int
    last: int
    low: float
    high: float


def curves(agent: Agent, runs: int, episodes: int) -> npt.NDArray[np.int64]:
    """Steps of each episode, shape (runs, episodes); each run begins naive."""
    suite, rows = MountainCar(), []
    for run in range(runs):
        glue, _ = glue_of(agent, local(suite, 1))
        rows.append([outcome.steps for outcome in play(glue, suite, episodes, run=run)])
    return np.array(rows)


def assert_agrees(steps: npt.NDArray[np.int64], readings: Sequence[Reading]) -> None:
    for read in readings:
        means = steps[:, read.first - 1 : read.last].mean(axis=1)
        half = stats.t.ppf(0.975, len(means) - 1) * stats.sem(means)
        where = f"episodes {read.first} to {read.last}: {means.mean():.1f} ± {half:.1f}, {read}"
        assert half < 0.1 * means.mean(), f"too wide to say anything: {where}"
        assert means.mean() - half <= read.high, where
        assert means.mean() + half >= read.low, where


def test_sarsas_curve_on_mountain_car_is_figure_10_2s() -> None:
    """α = 0.5/8, ε = 0, 5 runs of 60 episodes; the figure has 100 runs of 500.

    The mean of the first 50 episodes is n = 1 at 0.5 in figure 10.4, a linear axis.
    """
    steps = curves(Sarsa(alpha=0.5, lambda_=0.0, epsilon=0.0), runs=5, episodes=60)
    figure = [
        Reading(6, 20, 250, 320),
        Reading(41, 60, 155, 180),
        Reading(1, 50, 275, 290),
    ]
    assert_agrees(steps, figure)
    assert 700 < steps[:, 0].mean() < 4000


def test_traces_learn_as_fast_as_in_figure_12_10() -> None:
    """λ = 0.92, α = 1/8, 4 runs; the figure has 100."""
    steps = curves(Sarsa(alpha=1.0, lambda_=0.92, epsilon=0.0), runs=4, episodes=50)
    assert_agrees(steps, [Reading(1, 50, 178, 192)])


def test_a_run_repeats_to_the_bit_when_the_agent_is_naive_again() -> None:
    agent, suite, runs = Sarsa(), MountainCar(horizon=400), []
    for _ in range(2):
        glue, _ = glue_of(agent, local(suite, 2))
        runs.append([outcome.actions for outcome in play(glue, suite, 6)])
        glue.freeze()
    assert runs[0] == runs[1]


# The gridworld


@pytest.mark.parametrize("kings_moves", [False, True])
@pytest.mark.parametrize("slots", [1, 4])
def test_q_learning_finds_the_shortest_way(kings_moves: bool, slots: int) -> None:
    suite = GridWorld(kings_moves=kings_moves, horizon=1000)
    glue = learned(TabularQ(), suite, episodes=250, slots=slots)
    (outcome,) = play(glue, suite, 1, phase=Phase.EVALUATE)
    assert (outcome.steps, outcome.success) == (7 if kings_moves else 15, True)


def test_sarsa_crosses_the_gridworld_as_often_as_in_example_6_5() -> None:
    """ε = 0.1, α = 0.5: the figure's one run has about 170 episodes in 8000 steps.

    Of 60 runs of ours, 95 % had 141 to 178.
    """
    suite = GridWorld()
    glue, _ = glue_of(Sarsa(alpha=0.5, lambda_=0.0, epsilon=0.1), local(suite, 1))
    steps = np.cumsum([outcome.steps for outcome in play(glue, suite, 200)])
    assert 141 <= np.searchsorted(steps, 8000) <= 178


# Access control


def test_differential_sarsa_earns_nearly_all_that_access_control_can_give() -> None:
    """After 6000 steps; 6000 more that are judged have a standard error of about 0.04."""
    suite, agent = AccessControl(), Sarsa(alpha=0.05, lambda_=0.0, beta=0.01)
    glue, _ = glue_of(agent, local(AccessControl(horizon=6_000), 1))
    (trained,) = play(glue, suite, 1)
    assert agent.average_reward == pytest.approx(trained.return_ / trained.steps, abs=0.3)
    glue.freeze()
    (judged,) = play(glue, suite, 1, run=1, phase=Phase.EVALUATE)
    earned = judged.return_ / judged.steps
    assert earned > average_reward(accept_all) + 0.2 > average_reward(at_random)
    assert earned == pytest.approx(average_reward(best), abs=0.2)
