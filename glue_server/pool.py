"""The slots' environments: the protocol, and the form that runs in this process."""

from __future__ import annotations

import math
import traceback
from collections.abc import Mapping
from dataclasses import replace
from typing import Protocol, TypeAlias

import numpy as np

from env_adapters import Cell, Step, Suite, World
from glue_server.checks import action_from_bytes
from reglue.errors import EnvironmentFault
from reglue.spec import Array, Arrays, TaskSpec

Answer: TypeAlias = Arrays | Step | EnvironmentFault
"""Of one slot: a first observation, a step, or what went wrong."""


class Pool(Protocol):
    """S environments. What is sent is answered slot by slot, in any order."""

    @property
    def spec(self) -> TaskSpec:
        """The task, with S slots."""

    @property
    def executed(self) -> int:
        """Steps simulated so far, replayed ones too."""

    def send(self, starts: Mapping[int, Cell], steps: Mapping[int, bytes]) -> None:
        """Begin episodes in slots, take steps (action bytes) in others."""

    def receive(self) -> dict[int, Answer]:
        """Wait until slots have answered; those that have."""

    def close(self) -> None:
        """End every environment."""


class LocalPool:
    """Environments in this process, one after another."""

    def __init__(self, suite: Suite, slots: int) -> None:
        self.spec = suite.spec.with_slots(slots)
        self.executed = 0
        self._environments = [suite.world() for _ in range(slots)]
        self._answers: dict[int, Answer] = {}

    def send(self, starts: Mapping[int, Cell], steps: Mapping[int, bytes]) -> None:
        """Begin and step at once; `receive` hands the answers out."""
        for slot, cell in starts.items():
            self._answers[slot] = start(self._environments[slot], self.spec, cell)
        for slot, action in steps.items():
            self.executed += 1
            self._answers[slot] = step(self._environments[slot], self.spec, action)

    def receive(self) -> dict[int, Answer]:
        """All answers; they are there already."""
        answers, self._answers = self._answers, {}
        return answers

    def close(self) -> None:
        """Close every environment."""
        for environment in self._environments:
            environment.close()


def start(environment: World, spec: TaskSpec, cell: Cell) -> Arrays | EnvironmentFault:
    """Begin an episode; an environment's own error becomes a value."""
    try:
        return _conform(spec, environment.start(cell))
    except Exception as error:  # noqa: BLE001 - the edge of somebody's environment
        return fault(error)


def step(environment: World, spec: TaskSpec, action: bytes) -> Step | EnvironmentFault:
    """Take a step; an environment's own error becomes a value."""
    try:
        result = environment.step(action_from_bytes(spec, action))
        if not math.isfinite(result.reward):
            raise ValueError(f"got reward {result.reward}, wanted a finite number")
        # Python's own float and bools: sums must not depend on what a worker's frame makes of them.
        return replace(
            result,
            reward=float(result.reward),
            observation=_conform(spec, result.observation),
            terminated=bool(result.terminated),
            truncated=bool(result.truncated),
            success=bool(result.success),
        )
    except Exception as error:  # noqa: BLE001 - the edge of somebody's environment
        return fault(error)


def _conform(spec: TaskSpec, arrays: Arrays) -> dict[str, Array]:
    """Copies in the spec's dtypes. Raises ValueError or KeyError where they do not fit."""
    observation = {}
    for tensor in spec.observations:
        observation[tensor.name] = np.array(arrays[tensor.name], tensor.dtype)
        if observation[tensor.name].shape != tensor.shape:
            got = observation[tensor.name].shape
            raise ValueError(f"observation {tensor.name!r}: got {got}, wanted {tensor.shape}")
    return observation


def fault(error: Exception) -> EnvironmentFault:
    """What an environment raised, with where, as a value."""
    return EnvironmentFault("".join(traceback.format_exception(error)))
