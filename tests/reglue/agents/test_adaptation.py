"""Functions and models of Stable-Baselines3 are agents as they are."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import pytest

from glue_server import Glue
from reglue import Policy
from reglue.agents.adaptation import agent_of
from reglue.agents.model_agent import ModelAgent
from reglue.errors import NotAnAgent
from reglue.tools.loading import agent_name
from tests.error_facts import raises


class Model:
    """Has the `predict` of Stable-Baselines3; recurrent if it has `layers`."""

    def __init__(self, layers: int = 0) -> None:
        self.layers = layers
        self.calls: list[tuple[int, list[bool], bool]] = []

    def predict(
        self, observation: Any, state: Any = None, episode_start: Any = None, deterministic: Any = 0
    ) -> Any:
        self.calls.append((len(observation), episode_start.tolist(), deterministic))
        if not self.layers:
            return np.full(len(observation), 2), None
        shape = (self.layers, len(observation), 1)
        steps = np.zeros(shape) if state is None else np.where(episode_start[:, None], 0, state[0])
        # The first action is 0, and the next ones 2, if each slot has its own state.
        return np.where(steps[0, :, 0] > 0, 2, 0), (steps + 1,)


def act(observation: Any) -> Any:
    return np.where(observation[:, 1] < 0, 0, 2)


def test_a_function_of_a_batch_is_a_policy() -> None:
    agent = agent_of(act)
    assert isinstance(agent, Policy)
    assert agent_name(act) == agent_name(agent) == "act"
    with Glue(environment="mountain-car", agent=act) as rl:
        rl.init()
        rl.episode()
        assert rl.return_() == -121.0


def test_a_pair_of_actions_and_no_state_is_the_actions() -> None:
    with Glue(environment="mountain-car", agent=lambda seen: (act(seen), None)) as rl:
        rl.init()
        rl.episode()
        assert rl.return_() == -121.0


def test_two_rows_that_are_a_tuple_stay_two_rows() -> None:
    with Glue(environment="mountain-car", agent=lambda seen: (0, 2)[: len(seen)], slots=2) as rl:
        rl.init()
        [*_, two] = [rl.start()]
        assert two.actions["action"].tolist() == [0, 2]


def test_a_model_plays_deterministically() -> None:
    model = Model()
    assert isinstance(agent_of(model), ModelAgent)
    with Glue(environment="mountain-car", agent=model, slots=3) as rl:
        rl.init()
        rl.start()
        rl.step()
    assert model.calls == [(3, [True] * 3, True), (3, [False] * 3, True)]


def test_a_recurrent_model_has_a_state_in_each_slot() -> None:
    class InParts(ModelAgent):
        partial_turns = True

    with Glue(environment="mountain-car", agent=InParts(Model(layers=2)), slots=3) as rl:
        rl.init()
        assert rl.start(slots=[0, 2]).actions["action"].tolist() == [0, 0]
        assert rl.step(slots=[2]).actions["action"].tolist() == [2]
        assert rl.start(slots=[1, 2]).actions["action"].tolist() == [0, 0]
        assert rl.step().actions["action"].tolist() == [2, 2, 2]


@pytest.mark.parametrize(
    "agent",
    [Model(), Model().predict, functools.partial(Model().predict, deterministic=True)],
    ids=["model", "method", "partial"],
)
def test_a_model_is_called_by_its_class(agent: object) -> None:
    assert agent_name(agent) == "Model"


@pytest.mark.parametrize("candidate", [3, "agent"])
def test_what_plays_nothing_is_refused_with_the_ways(candidate: object) -> None:
    ways = ("reglue.Agent", "function", "predict()", "eval_action()", "reset()")
    with raises(NotAnAgent, type(candidate).__name__, *ways):
        agent_of(candidate)
