"""Environments of many slots in this process, and a few words to ask them with."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from env_adapters import Cell
from glue_server import EnvironmentCalls, LocalEnvironmentPort
from reglue import TaskSpec
from reglue.environments.environment import Earned, Environment
from reglue.messages.environment_messages import (
    EnvironmentCall,
    Play,
    Played,
)
from reglue.spec import Array, Arrays
from tests.glue_server.playing import SOLVED, calls_of, cell
from tests.worlds import Corridor

SPEC = Corridor(solved=SOLVED).spec


class Hall(Environment):
    """Counts its steps: many slots in one call."""

    whole_turns = False

    def __init__(self) -> None:
        self.cleaned = 0

    def env_init(self, slots: int) -> TaskSpec:
        self._taken = np.zeros((slots, 2))
        return SPEC

    def env_start(self, cells: Mapping[int, Cell]) -> Mapping[str, Any]:
        self._taken[[*cells]] = 0.0
        return {"observation": self._taken[[*cells]]}

    def env_step(self, actions: Arrays, slots: Array) -> Earned:
        self._taken[slots, 0] += 1.0
        return Earned(self._taken[slots, 0], {"observation": self._taken[slots]})

    def env_cleanup(self) -> None:
        self.cleaned += 1


def pool_over(environment: Environment, slots: int = 2) -> EnvironmentCalls:
    return calls_of(LocalEnvironmentPort(environment, "ours"), slots)


def exchange(
    pool: EnvironmentCalls, *, steps: Sequence[int] = (), starts: Sequence[int] = ()
) -> Played:
    """A step of zero in some slots, an episode's start in others."""
    actions = {"action": np.zeros((len(steps), 1), np.float32)} if steps else {}
    pool.send(Play(np.array(steps, np.uint32), actions, {slot: cell() for slot in starts}))
    return pool.receive()


def ask(environment: Environment, call: EnvironmentCall, kind: type[Any]) -> Any:
    return EnvironmentCalls(LocalEnvironmentPort(environment, "ours"), timeout_s=1.0).ask(
        call, kind
    )
