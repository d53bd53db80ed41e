"""Routines, functions and environments that cannot be called are refused before play."""

from __future__ import annotations

import functools
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces

import reglue
from env_adapters.gymnasium import suite_of
from reglue.agents.adaptation import agent_of
from reglue.environments.environment_objects import environment_of
from reglue.errors import NotAnAgent, NotAnEnvironment
from tests.error_facts import raises


def no_parameter() -> Any:
    raise AssertionError("it is not called")


def two_parameters(rewards: Any, observations: int) -> Any:
    raise AssertionError("it is not called")


@pytest.mark.parametrize(
    ("function", "parameters"),
    [
        (no_parameter, "()"),
        (two_parameters, "(rewards, observations)"),
        (lambda **seen: 0, "(**seen)"),
    ],
)
def test_a_policy_takes_one_argument(function: Any, parameters: str) -> None:
    got = f"the function {function.__name__}{parameters}"
    with raises(NotAnAgent, got=got, wanted="one argument: a batch of observations"):
        agent_of(function)


@pytest.mark.parametrize(
    "function",
    [
        functools.partial(two_parameters, 0),
        functools.partial(two_parameters, observations=0),
        lambda *seen: 0,
        lambda seen, deterministic=True: 0,
        np.argmax,
        max,
    ],
)
def test_what_may_be_called_with_one_argument_is_a_policy(function: Any) -> None:
    agent_of(function)


class Plays(reglue.Agent):
    def agent_start(self, observations: Any, starts: Any) -> Any:
        raise AssertionError("it is not called")

    def agent_step(self, rewards: Any, observations: Any, steps: Any) -> Any:
        raise AssertionError("it is not called")


@pytest.mark.parametrize(
    ("name", "routine", "got", "wanted"),
    [
        (
            "agent_start",
            lambda self, observations: 0,
            "agent_start(self, observations)",
            "agent_start(self, observations, starts)",
        ),
        (
            "agent_step",
            lambda self, observations, steps: 0,
            "agent_step(self, observations, steps)",
            "agent_step(self, rewards, observations, steps)",
        ),
        (
            "agent_end",
            lambda self, reward: 0,
            "agent_end(self, reward)",
            "agent_end(self, rewards, observations, ends)",
        ),
        ("agent_init", lambda self: 0, "agent_init(self)", "agent_init(self, spec)"),
        ("adapt", lambda self, data: 0, "adapt(self, data)", "adapt(self)"),
        ("turn", lambda self: 0, "turn(self)", "turn(self, turn)"),
    ],
)
def test_a_routine_of_an_agent_is_refused_with_its_signature(
    name: str, routine: Any, got: str, wanted: str
) -> None:
    with raises(NotAnAgent, "Mine", got=got, wanted=wanted):
        agent_of(type("Mine", (Plays,), {name: routine})())


def test_an_agent_with_turn_may_use_other_names_as_it_likes() -> None:
    mine = {"turn": lambda self, turn: {}, "agent_start": lambda self: 0}
    agent_of(type("Mine", (Plays,), mine)())


def test_a_routine_of_an_environment_is_refused_with_its_signature() -> None:
    routines = {
        "env_init": lambda self, slots: 0,
        "env_start": lambda self: 0,
        "env_step": lambda self, actions, slots: 0,
    }
    mine = type("Mine", (reglue.Environment,), routines)
    with raises(NotAnEnvironment, "Mine", got="env_start(self)", wanted="env_start(self, cells)"):
        environment_of(mine())


class NoSpaces(gymnasium.Env[Any, Any]):
    action_space = spaces.Discrete(2)


class Old(gymnasium.Env[Any, Any]):
    observation_space = spaces.Discrete(2)
    action_space = spaces.Discrete(2)

    def reset(self) -> Any:  # type: ignore[override]
        raise AssertionError("it is not called")


class OneKeyword(Old):
    def reset(self, seed: Any = None) -> Any:  # type: ignore[override]
        raise AssertionError("it is not called")


def test_an_environment_without_a_space_is_refused() -> None:
    for candidate in (NoSpaces, NoSpaces()):
        with raises(NotAnEnvironment, "NoSpaces", "observation_space"):
            suite_of(candidate)


@pytest.mark.parametrize(
    "made",
    [Old, Old(), gymnasium.wrappers.TimeLimit(Old(), 5)],
    ids=["class", "object", "wrapped"],
)
def test_an_old_reset_is_refused_with_todays(made: Any) -> None:
    with raises(NotAnEnvironment, "seed=None", "options=None", "0.26", got="Old.reset()"):
        suite_of(made)


def test_a_reset_needs_options_only_where_a_wrapper_passes_them() -> None:
    suite_of(OneKeyword)
    with raises(NotAnEnvironment, got="OneKeyword.reset(seed=None)"):
        suite_of(gymnasium.wrappers.TimeLimit(OneKeyword(), 5))
