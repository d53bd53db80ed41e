"""A schedule as a suite: its episodes are cells, which a benchmark plays in any process."""

from __future__ import annotations

from typing import Any

from env_adapters.curricula.file import made_of
from env_adapters.curricula.make import make_curriculum
from env_adapters.gymnasium.suite import OneEnvironment

TASK = "curriculum"


class Schedule(OneEnvironment):
    """Plays a schedule: the cell's `repeat` is the number of the episode, and its `steps` the
    steps of the run before it.

    `arguments` are those of `make_curriculum`, as JSON, its keywords for environments in
    `env_kwargs`. Raises UsageError.
    """

    def __init__(self, **arguments: Any) -> None:
        made = made_of(arguments)
        super().__init__(TASK, lambda: make_curriculum(**made)[0], arguments)
