"""The task that a sub-environment plays next, as its task selection wrapper would choose."""

from __future__ import annotations

from collections.abc import Mapping
from copy import deepcopy
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from reglue.errors import UsageError


@dataclass(slots=True)
class Position:
    """A task selection's state: all that a draw changes."""

    generator: np.random.Generator
    tasks: list[Any]  # upstream's, in their present order
    index: int  # of the present one, for PseudoRandomTaskSelectWrapper


@dataclass(slots=True)
class Selection:
    """One sub-environment's selection, on copies: the vector environment does not change. `at` is
    its state; `before` the state before its last draw, so that the environment itself can make
    that draw at the end.
    """

    at: Position
    variants: Mapping[Any, int]  # by upstream's task
    shuffles: bool  # PseudoRandomTaskSelectWrapper, not RandomTaskSelectWrapper
    on_reset: bool  # sample_tasks_on_reset
    variant: int | None  # of the task that is set; None if no task is set
    before: Position | None = field(default=None)

    def sample(self) -> None:
        """Select tasks like `sample_tasks`, without the reset."""
        at = self.at
        self.before = Position(deepcopy(at.generator), list(at.tasks), at.index)
        if self.shuffles:
            at.index = (at.index + 1) % len(at.tasks)
            if at.index == 0:
                at.generator.shuffle(at.tasks)
        else:
            at.index = int(at.generator.choice(len(at.tasks)))
        self.variant = self.variants[at.tasks[at.index]]

    def reset(self) -> int:
        """The variant of the episode that begins. Raises UsageError if there is none."""
        if self.on_reset:
            self.sample()
        if self.variant is None:
            raise UsageError(
                got="sub-environments in which no task was set",
                wanted='one: call envs.call("sample_tasks"), or '
                'envs.call("toggle_sample_tasks_on_reset", True)',
            )
        return self.variant
