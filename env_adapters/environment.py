"""The environment's side of the glue, inside one process.

These are driver types: task names, goals, seeds and success flags live here and
in the layers above, never in what an agent is sent.
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

from reglue.calls import Phase
from reglue.errors import UsageError
from reglue.spec import Arrays, TaskSpec


@dataclass(frozen=True, slots=True)
class Cell:
    """The episode that is wanted; with its actions it decides every bit."""

    task: str
    variant: int  # which goal, configuration, … of the task
    seed: int  # of the environment's own chance, 0 to 2**63 - 1
    repeat: int  # tells planned repetitions of a variant apart
    phase: Phase  # EVALUATE ends at the first success


@dataclass(frozen=True, slots=True)
class Step:
    """What one action earned."""

    reward: float  # for the action just taken, unclipped, task units
    observation: Arrays  # named arrays, dtype and shape as in the TaskSpec
    terminated: bool  # the task ended: do not bootstrap
    truncated: bool  # time ran out: bootstrap from `observation`
    success: bool  # the task's flag at this step; for the driver alone


class Environment(Protocol):
    """One slot's world: plays one episode after another."""

    def start(self, cell: Cell) -> Arrays:
        """Begin the cell's episode, whatever was played before; its first observation."""

    def step(self, action: Arrays) -> Step:
        """Take one step. Actions out of a Box are legal: the environment clips them."""

    def close(self) -> None:
        """Release what `start` took."""


@runtime_checkable
class Restorable(Protocol):
    """An environment whose state can be kept and brought back to the bit."""

    def get_state(self) -> bytes:
        """The whole state in mid-episode, readable in another process; no pickle."""

    def set_state(self, state: bytes) -> None:
        """Continue from `state`: the same actions give the same bits. Raises UsageError."""


class Suite(Protocol):
    """Makes the environments of one process, which may share what is costly to build."""

    @property
    def spec(self) -> TaskSpec:
        """The same for all tasks; with one slot."""

    def environment(self) -> Environment:
        """A world for one more slot."""


@dataclass(frozen=True, slots=True)
class SuiteName:
    """A suite by `module:factory` and JSON, so that any process can build it."""

    factory: str
    config: Mapping[str, Any]

    def build(self) -> Suite:
        """Call the factory with the config's entries as keywords. Raises UsageError."""
        module, _, name = self.factory.partition(":")
        try:
            factory = getattr(importlib.import_module(module), name)
        except (ModuleNotFoundError, AttributeError) as error:
            raise UsageError(f"no suite {self.factory!r}: {error}") from error
        suite: Suite = factory(**self.config)
        return suite
