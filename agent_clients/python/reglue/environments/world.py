"""Environments as most people write them: one world a slot, one episode at a time.

These are driver types: task names, goals, seeds and success flags live here and
in the layers above, never in what an agent is sent.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol, runtime_checkable

from reglue.messages.environment_messages import Cell
from reglue.messages.value import value
from reglue.spec import Array, Arrays, TaskSpec


@value
class Step:
    """The result of one action."""

    reward: float  # for the action just taken, unclipped, task units
    observation: Mapping[str, Any]  # arrays or texts by name, dtype and shape as in the TaskSpec
    terminated: bool  # the task ended: do not bootstrap
    truncated: bool  # time ran out: bootstrap from `observation`
    success: bool  # the task's flag at this step; for the driver alone


class World(Protocol):
    """One slot's environment: plays one episode after another."""

    def start(self, cell: Cell) -> Mapping[str, Any]:
        """Begin the cell's episode and return its first observation."""

    def step(self, action: Arrays) -> Step:
        """Take one step. Actions are legal values of their domains; with the suite's
        `raw_actions` finite numbers may lie outside of a Box.

        Raises reglue.IllegalAction, with nothing changed, for an action that the TaskSpec allows
        and the world cannot play, such as a move against the rules: it is the agent's error. Any
        other exception is the environment's failure: of this world alone, or of all if it is
        reglue.EnvironmentLost.
        """

    def close(self) -> None:
        """Release what `start` took."""


@runtime_checkable
class Restorable(Protocol):
    """A world whose state can be saved and restored to the bit."""

    def get_state(self) -> bytes:
        """The whole state in mid-episode, generators included; no pickle.

        Any process that builds the same suite can restore it. Raises UsageError without an
        episode.
        """

    def set_state(self, state: bytes) -> None:
        """Continue from `state`: the same actions give the same bits. Raises UsageError."""


@runtime_checkable
class Seeded(Protocol):
    """A world whose generators can be saved and restored by themselves."""

    def get_random_seed(self) -> bytes:
        """The state of the episode's generators. Raises UsageError without an episode."""

    def set_random_seed(self, seed: bytes) -> None:
        """Set the state of the generators; nothing else changes. Raises UsageError."""


@runtime_checkable
class Rendered(Protocol):
    """A world that can draw itself, which changes nothing."""

    def render(self) -> Array | None:
        """A new picture of the present or last episode, (height, width, 3) uint8; None without one.

        Raises what the drawing library raises.
        """


@runtime_checkable
class Messaged(Protocol):
    """A world that answers RL_env_message."""

    def message(self, text: str) -> str:
        """The answer; legal at any time, also without an episode.

        A message is no part of a cell: where one changes the world, a score of it cannot be
        repeated, and an episode that is played again after a failure may go otherwise.
        """


class Suite(Protocol):
    """Makes the worlds of one process, which may share what is expensive to build.

    Five optional attributes:
    - `tells_success = False`: its episodes never report success, so the score is the mean return;
    - `max_slots`: the most worlds that it can make;
    - `repeatable = False`: its cells do not decide its episodes, see `Environment.repeatable`;
    - `raw_actions = True`: its worlds get actions outside a Box unclipped, to clip them or to
      charge for them. Otherwise Reglue clips actions before;
    - `close()`: releases what the suite itself holds, such as a simulator that its worlds share. It
      is called once, after the worlds are closed, and once where only the spec was asked for. Who
      begins again after that asks for new worlds.
    """

    @property
    def spec(self) -> TaskSpec:
        """The spec: the same for all tasks, with one slot."""

    @property
    def variants(self) -> Mapping[str, int]:
        """The number of variants of each task, in the order of tasks."""

    @property
    def standardizes(self) -> bool:
        """True if an episode draws from `reglue.rng.Rng(cell.seed, cell.repeat)` alone, or not at
        all: then the same cell is the same episode on every platform.
        """

    def world(self) -> World:
        """A world for one more slot."""


def close_suite(suite: Suite) -> None:
    """Call its `close`, if it has one."""
    if callable(close := getattr(suite, "close", None)):
        close()
