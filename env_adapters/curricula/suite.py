"""A schedule as a suite: its episodes are cells, which benchmarks play in any process."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any

from env_adapters.arguments import DRAWS
from env_adapters.curricula.file import made_of
from env_adapters.curricula.make import make_curriculum
from env_adapters.curricula.world import KeptWorld
from env_adapters.gymnasium.suite import OneEnvironment
from env_adapters.gymnasium.world import GymnasiumWorld

TASK = "curriculum"

_GYMNASIUM = "gymnasium:"


class Schedule(OneEnvironment):
    """Plays a schedule: the cell's `repeat` is the number of the episode, and its `steps` the
    steps of the run before it.

    `arguments` are those of `make_curriculum`, as JSON, its keywords for environments in
    `env_kwargs`. Its worlds are Restorable if every environment's state can be saved (see
    `env_adapters.curricula.kept`). Raises UsageError.
    """

    def __init__(self, **arguments: Any) -> None:
        first = make_curriculum(**made_of(arguments))[0]
        super().__init__(TASK, first.another, arguments)
        self._can_be_kept = first.can_be_kept
        self.counts_steps = not arguments.get("episodic", False)
        """Whether a cell's `steps` decide its entry: only online benchmarks count them."""

    @staticmethod
    def drawing(config: Mapping[str, Any]) -> Mapping[str, Any]:
        """The config in which Gymnasium's environments draw, and no others."""
        return {**config, "schedule": _drawing(config["schedule"])}

    def world(self) -> GymnasiumWorld:
        """A world for one more slot."""
        if not self._can_be_kept:
            return super().world()
        return KeptWorld(TASK, self._take, self._observations, self._actions, mark=self._mark())

    def _mark(self) -> Mapping[str, str]:
        mark = super()._mark()
        schedule = hashlib.sha256(mark["options"].encode()).hexdigest()
        return {**mark, "options": schedule}


def _drawing(what: Any) -> Any:
    """A part of a schedule."""
    if isinstance(what, list):
        return [_drawing(each) for each in what]
    if isinstance(what, str) and what.startswith(_GYMNASIUM):
        return {"env": what, "kwargs": DRAWS}
    if isinstance(what, dict) and str(what.get("env", "")).startswith(_GYMNASIUM):
        return {**what, "kwargs": {**DRAWS, **what.get("kwargs", {})}}
    if isinstance(what, dict) and "env" not in what:
        return {key: _drawing(value) for key, value in what.items()}
    return what
