"""An evaluation leaves the generators that a process shares as they were."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import gymnasium
import numpy as np
import pytest
import torch
from gymnasium.envs.classic_control import CartPoleEnv

import reglue
from reglue.errors import AgentFault

NAME = "evaluate:gymnasium:CartPole-v1"


def state() -> tuple[Any, ...]:
    numpy_state = repr(np.random.get_state(legacy=False))  # noqa: NPY002
    return random.getstate(), numpy_state, torch.get_rng_state().numpy().tobytes()


def draw() -> float:
    return random.random() + float(np.random.random()) + float(torch.rand(()))  # noqa: NPY002


def draws(seen: Any) -> Any:
    """A policy that draws from all of them."""
    return np.array([int(draw() > 1.5) for _ in range(len(seen))])


def fails(seen: Any) -> Any:
    draws(seen)
    raise RuntimeError("the policy fails")


class Draws(CartPoleEnv):
    """An environment that draws from them, also when it is made and closed."""

    def __init__(self, **arguments: Any) -> None:
        draw()
        super().__init__(**arguments)

    def step(self, action: Any) -> Any:
        draw()
        return super().step(action)  # type: ignore[no-untyped-call]

    def close(self) -> None:
        draw()
        super().close()  # type: ignore[no-untyped-call]


def by_evaluator(benchmark: Any, agent: Any) -> None:
    with reglue.Evaluator(benchmark, num_episodes=2, workers=0) as evaluator:
        evaluator(agent)
        evaluator(agent)


def by_evaluate(benchmark: Any, agent: Any) -> None:
    reglue.evaluate(benchmark, agent, num_episodes=2, workers=0)


@pytest.mark.parametrize("play", [by_evaluate, by_evaluator])
@pytest.mark.parametrize("agent", [draws, fails])
@pytest.mark.parametrize("benchmark", [NAME, f"evaluate:{__name__}:Draws", Draws])
def test_they_are_as_they_were(
    play: Callable[[Any, Any], None], agent: Any, benchmark: Any
) -> None:
    before = state()
    if agent is fails:
        with pytest.raises(AgentFault):
            play(benchmark, agent)
    else:
        play(benchmark, agent)
    assert state() == before


def test_an_evaluation_begins_where_the_caller_has_set_them() -> None:
    """A policy that draws is the same after the same seeds."""
    returns = []
    for seed in (1, 1, 2):
        random.seed(seed)
        np.random.seed(seed)  # noqa: NPY002
        torch.manual_seed(seed)
        result = reglue.evaluate(NAME, draws, num_episodes=5, workers=0)
        returns.append([row.return_ for row in result.episodes])
    assert returns[0] == returns[1] != returns[2]


def test_an_object_of_the_caller_too() -> None:
    with gymnasium.make("CartPole-v1") as env:
        before = state()
        by_evaluate(env, draws)
        assert state() == before
