"""Environments that programs pass as objects: what each is called."""

from __future__ import annotations

from functools import partial
from typing import Any

import gymnasium
import pytest

from env_adapters.given_environment import given_environment
from env_adapters.gymnasium.gymnasium_suite import suite_of
from reglue.environments.environment import Environment
from tests.glue_server.routines.lab import Lab
from tests.worlds import Corridor


class Still(gymnasium.Env[Any, Any]):
    observation_space = action_space = gymnasium.spaces.Discrete(2)


@pytest.mark.parametrize(
    ("candidate", "name"),
    [
        (Still, "Still"),
        (Still(), "Still"),
        (lambda: gymnasium.wrappers.OrderEnforcing(Still()), "Still"),
        (gymnasium.make("CartPole-v1"), "CartPole-v1"),
        (partial(gymnasium.make, "CartPole-v1"), "CartPole-v1"),
        (lambda: suite_of(Still), "Still"),
        (Corridor(solved={"walk": [0]}), "Corridor"),
        (Lab(), "Lab"),
    ],
)
def test_an_environment_is_called_by_its_id_or_else_its_class(candidate: object, name: str) -> None:
    environment, called = given_environment("environment", candidate, {}, name="")
    assert isinstance(environment, Environment)
    assert called == name
