"""One of Gymnasium's environments as a suite, built from its id and JSON."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import numpy as np

from env_adapters.gymnasium.exact_world import ExactWorld
from env_adapters.gymnasium.insides import insides
from env_adapters.gymnasium.library import gymnasium, make
from env_adapters.gymnasium.spaces import tensor
from env_adapters.gymnasium.world import World
from reglue.spec import TaskSpec


class Gymnasium:
    """Makes worlds that play the environment with an id; its one task is called by it.

    `options` are keywords of `gymnasium.make`: the environment's own, and
    `max_episode_steps` (-1 for no limit). Observation and action are one tensor each,
    `observation` and `action`.

    Classic control, MuJoCo (v4, v5) and toy text are known inside: their worlds are
    Restorable and Seeded, and all their chance is the cell's. Any other environment is
    seeded from the cell, plays, and is neither. The known take actions out of a Box as
    they came, as they do alone; for others they are clipped.

    Raises UnknownName; MissingExtra; CannotLoad where Gymnasium cannot make it;
    UsageError where a space is none of Box, Discrete, MultiDiscrete and MultiBinary.
    """

    def __init__(self, id: str, **options: Any) -> None:  # noqa: A002 - Gymnasium's word
        self._id, self._options = id, options
        env = make(id, options)
        self._spec = TaskSpec(
            observations=(tensor("observation", env.observation_space),),
            actions=(tensor("action", env.action_space),),
            horizon=env.spec.max_episode_steps or 0,
        )
        self._insides = insides(env)
        self._full_id = str(env.spec.id)  # with the version, which `id` may leave out
        self._spare: Any = env  # for the first world

    @property
    def spec(self) -> TaskSpec:
        """As the environment's spaces and time limit have it."""
        return self._spec

    @property
    def variants(self) -> Mapping[str, int]:
        """One task of one variant."""
        return {self._id: 1}

    @property
    def standardizes(self) -> bool:
        """True where we know that an episode's chance is drawn from `np_random` alone."""
        return self._insides is not None

    def world(self) -> World:
        """A world for one more slot."""
        if self._insides is None:
            return World(self._id, self._spec, self._take)
        return ExactWorld(self._id, self._spec, self._take, self._insides, self._mark())

    def _take(self) -> Any:
        env, self._spare = self._spare, None
        return env if env is not None else make(self._id, self._options)

    def _mark(self) -> Mapping[str, str]:
        """What a kept state must have in common with whoever takes it."""
        return {
            "id": self._full_id,
            # What is no JSON can only come from within the process, and is taken at its word.
            "options": json.dumps(self._options, sort_keys=True, default=repr),
            "gymnasium": gymnasium().__version__,
            "numpy": np.__version__,
        }
