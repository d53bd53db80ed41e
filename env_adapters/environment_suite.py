"""An `Environment` as a suite: each of its worlds is an environment of one slot.

So whatever takes a suite takes an Environment of many slots, too. A play of many slots takes the
environment itself.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping

import numpy as np

from env_adapters.gymnasium.vector_batch import Batch
from env_adapters.slot_checks import check_slots
from reglue.environments.environment import Environment
from reglue.environments.validation import conforming_spec
from reglue.environments.world import Step
from reglue.errors import EnvironmentFault
from reglue.messages.environment_messages import Cell, Play, Played
from reglue.spec import Arrays, TaskSpec

_NOBODY = np.zeros(0, np.uint32)
_SLOT = np.zeros(1, np.uint32)


class EnvironmentSuite:
    """The suite of an Environment's class, or of a function that makes one."""

    standardizes = False

    def __init__(self, first: Environment, another: Callable[[], Environment]) -> None:
        """`another` makes one more like `first`."""
        self._spare: Environment | None = first
        self._another = another
        self._environment = first
        self.tells_success = first.tells_success
        self.raw_actions = first.raw_actions
        self.repeatable = first.repeatable
        self.max_slots = first.max_slots
        self.own_slots = own_slots(first)

    @functools.cached_property
    def spec(self) -> TaskSpec:
        """The TaskSpec of one slot: the environment's answer to `env_init`."""
        if self._spare is None:
            self._spare = self._another()
        return _begun(self._spare)

    @property
    def variants(self) -> Mapping[str, int]:
        """The environment's variants."""
        return self._environment.variants

    def world(self) -> OneSlot:
        """A world over an environment of its own."""
        return OneSlot(self.environment())

    def environment(self) -> Environment:
        """A new environment; its caller calls `env_init`."""
        spare, self._spare = self._spare, None
        return self._another() if spare is None else spare

    def check_slots(self, slots: int) -> None:
        """Raise NotAnEnvironment if slots do not leave each other alone, as it says they do."""
        if self._environment.separate_slots:
            return
        if self._spare is None:
            self._spare = self._another()
        check_slots(self._spare, slots)

    def close(self) -> None:
        """Clean up the environment that made the spec, unless it is in play."""
        spare, self._spare = self._spare, None
        if spare is not None and "spec" in vars(self):
            spare.env_cleanup()


def own_slots(environment: Environment) -> int:
    """The number of slots of a batch that always steps all of them; 0 for other environments."""
    return environment.max_slots if isinstance(environment, Batch) else 0


class OneSlot:
    """Plays one episode at a time in an environment of one slot."""

    def __init__(self, environment: Environment) -> None:
        self._environment = environment
        self._is_begun = False

    def start(self, cell: Cell) -> Arrays:
        """Begin the cell's episode."""
        if not self._is_begun:
            _begun(self._environment)
            self._is_begun = True
        return _row(self._played(Play(_NOBODY, {}, {0: cell})))

    def step(self, action: Arrays) -> Step:
        """Take one step."""
        actions = {name: np.asarray(each)[None] for name, each in action.items()}
        played = self._played(Play(_SLOT, actions, {}))
        return Step(
            reward=float(played.rewards[0]),
            observation=_row(played),
            terminated=bool(played.terminated[0]),
            truncated=bool(played.truncated[0]),
            success=bool(played.success[0]),
        )

    def close(self) -> None:
        """Clean the environment up."""
        if self._is_begun:
            self._is_begun = False
            self._environment.env_cleanup()

    def _played(self, play: Play) -> Played:
        """Raises EnvironmentFault for slots that the environment reports as failed."""
        played = self._environment.play(play)
        if played.faults:
            raise EnvironmentFault(played.faults[0])
        return played


def _begun(environment: Environment) -> TaskSpec:
    """Call `env_init` for one slot."""
    environment.spec = conforming_spec(environment.env_init(1)).with_slots(1)
    return environment.spec


def _row(played: Played) -> Arrays:
    return {name: rows[0].copy() for name, rows in played.observations.items()}
