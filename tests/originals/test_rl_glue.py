"""RL-Glue 1.0's concepts page: the pseudo-code of its routines, in Python, on ours."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from glue_server import Glue

pytestmark = pytest.mark.slow

ENVIRONMENT, AGENT, SEED = "gridworld", "q_learning", 3


@contextmanager
def glue() -> Iterator[Any]:
    """Of equal ones the first runs are equal."""
    with Glue(environment=ENVIRONMENT, agent=AGENT, seed=SEED) as rl:
        yield rl


def by_the_page(rl: Any, steps: int) -> list[Any]:
    """RL_episode(steps), from env_start, agent_start, env_step, agent_step and agent_end."""
    first = rl.env_start()
    upcoming_action = rl.agent_start(first.observations)
    listed: list[Any] = [first.observations, upcoming_action]
    for _ in range(steps):
        came = rl.env_step(upcoming_action)
        if came.terminated[0]:  # the page: s == terminal_observation
            rl.agent_end(came.rewards, came.observations)
            return [*listed, came.rewards[0]]
        upcoming_action = rl.agent_step(came.rewards, came.observations)
        listed += [came.rewards[0], came.observations, upcoming_action]
    return listed


def flat(listed: list[Any]) -> list[Any]:
    """Arrays as lists, so that they compare."""
    return [
        {name: rows[0].tolist() for name, rows in each.items()} if isinstance(each, dict) else each
        for each in listed
    ]


@pytest.mark.parametrize("steps", [5, 10_000_000])
def test_an_episode_is_what_the_page_makes_of_half_steps(steps: int) -> None:
    with glue() as rl:
        rl.init()
        wanted = flat(by_the_page(rl, steps))
    with glue() as rl:
        rl.init()
        found = rl.episode_trajectory(steps)
    got: list[Any] = []
    for t, reward in enumerate([None, *found.rewards.tolist()]):
        got += [] if reward is None else [reward]
        if t < len(found.observations["observation"]):
            arrays = found.observations, found.actions
            got += [{name: rows[t].tolist() for name, rows in each.items()} for each in arrays]
    assert got == wanted
    assert found.terminated == (steps > 5)


def test_a_benchmark_is_the_pages() -> None:
    """RL_benchmark, with 2 runs of 3 episodes for its 100 of 1000."""

    def benchmark(rl: Any) -> float:
        performance = 0.0
        for _run in range(1, 3):
            rl.init()
            total = 0.0
            for _episode in range(1, 4):
                rl.episode(10000000)
                total = total + rl.return_(1.0)
            performance = performance + total / 3.0
            rl.cleanup()
        return performance / 2.0

    performances = []
    for _ in range(2):
        with glue() as rl:
            performances.append(benchmark(rl))
    assert performances[0] == performances[1] < 0


def test_steps_are_counted_as_in_3_and_returned_as_in_1() -> None:
    with glue() as rl:
        rl.init()
        assert len(rl.episode_trajectory(5).rewards) == 5
        assert rl.num_steps() == 6  # the start is the first
        rl.episode(5)
        assert rl.num_steps() == 5
        assert rl.return_() == -4.0
