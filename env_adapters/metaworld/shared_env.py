"""One of metaworld's environments a task, in which simulators take turns.

MuJoCo's data are 15 MB, of which an episode depends on some hundred numbers, the
integration state: all else is computed from them, and mj_forward computes it anew before
a step reads it. Where every simulator had data of its own, a step found none of them in
the processor's cache, and took a third longer.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from env_adapters.integration_state import IntegrationState
from env_adapters.metaworld.fast import stand_in
from env_adapters.metaworld.models import Models, Places, SharedModel
from env_adapters.metaworld.proof import is_verified
from env_adapters.metaworld.resets import Resets, owns_memory
from env_adapters.metaworld.rests import SettledStates

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False, weakref_slot=True)
class Share:
    """What one simulator's episode changes, kept here while others play."""

    env: SharedEnv
    places: Places
    physics: Floats  # MuJoCo's integration state, (n,)
    attributes: dict[str, Any]  # metaworld's environment's

    def take(self) -> None:
        """Make the environment this simulator's, until another takes it."""
        self.env.put(self)


class SharedEnvs:
    """The environments of tasks, each made when its first simulator asks."""

    def __init__(self, models: Models, rests: SettledStates) -> None:
        self._models = models
        self._rests = rests
        self._envs: dict[str, SharedEnv] = {}

    def share(self, task: str) -> Share:
        """A new simulator's: nothing has been played in it."""
        if not is_verified():  # whether steps leave anything else behind
            return self._made(task).new_share()
        if task not in self._envs:
            self._envs[task] = self._made(task)
        return self._envs[task].new_share()

    def _made(self, task: str) -> SharedEnv:
        return SharedEnv(*self._models.environment(task), self._rests)


class SharedEnv:
    """Metaworld's environment of a task, its fast double if there is one, and who plays."""

    def __init__(self, env: Any, model: SharedModel, rests: SettledStates) -> None:
        self.env = env
        self.double = stand_in(env)
        self.physics = IntegrationState(env)
        self.resets = Resets(env, self.physics, rests)
        self._model = model
        self._first = self.physics.read()
        self._attributes = _own(vars(env))
        # Weakly: a share keeps us, and nobody wants what is left of one that is gone.
        self._present: Callable[[], Share | None] = lambda: None

    def new_share(self) -> Share:
        """As the environment was made."""
        return Share(self, self._model.as_read(), self._first.copy(), _own(self._attributes))

    def put(self, share: Share) -> None:
        """Make everything that share's, and keep what is there for whose it was."""
        self._model.put(share.places)
        left = self._present()
        if left is share:
            return
        if left is not None:
            self.physics.read_into(left.physics)
        self.physics.write(share.physics)
        self.env.__dict__ = share.attributes
        if self.double is not None:
            self.double.__dict__ = share.attributes
        self._present = weakref.ref(share)


def _own(attributes: dict[str, Any]) -> dict[str, Any]:
    """A copy in which nobody else writes; views into MuJoCo's data stay views."""
    return {
        name: value.copy() if owns_memory(value) else value for name, value in attributes.items()
    }
