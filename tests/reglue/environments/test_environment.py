"""Environments of many slots: what becomes of their answers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest

from reglue import TaskSpec, TensorSpec
from reglue.environments.environment import Environment
from reglue.messages.agent_messages import Phase
from reglue.messages.environment_messages import Cell, Play, Played
from reglue.spec import Box, Discrete, Domain

START = Play(np.zeros(0, np.uint32), {}, {0: Cell("task", 0, seed=1, repeat=0, phase=Phase.TRAIN)})


def task(domain: Domain) -> TaskSpec:
    """One that is made anew for each call."""
    observation = TensorSpec("o", "int64", (), domain)
    return TaskSpec((observation,), (TensorSpec("action", "int64", (), Discrete(2)),))


class Shows(Environment):
    """Begins with this observation."""

    def __init__(self, seen: int) -> None:
        self._seen = seen

    def env_start(self, cells: Mapping[int, Cell]) -> Mapping[str, Any]:
        return {"o": np.full(len(cells), self._seen)}

    def begin(self, domain: Domain) -> Played:
        """Play by a spec of that domain."""
        self.spec = task(domain)
        return self.play(START)


def test_an_answer_is_checked_by_the_present_spec() -> None:
    environment = Shows(4)
    assert not environment.begin(Discrete(5)).faults
    assert environment.begin(Discrete(3)).faults == {0: "observation 'o': got 4, wanted 0 to 2"}
    assert not environment.begin(Discrete(5)).faults


def test_observations_outside_a_box_are_counted_on_where_it_begins_again(
    caplog: pytest.LogCaptureFixture,
) -> None:
    environment = Shows(4)
    for _ in range(12):
        assert environment.begin(Box((0.0,), (3.0,))).outside == 1
    assert len(caplog.messages) == 2  # the first and the tenth


def test_what_an_environment_must_write_is_named() -> None:
    """It is no environment that does nothing and goes on."""
    environment, slots = Environment(), np.zeros(1, np.uint32)
    for call in (
        lambda: environment.env_init(1),
        lambda: environment.env_start(START.starts),
        lambda: environment.env_step({}, slots),
    ):
        with pytest.raises(NotImplementedError):
            call()
