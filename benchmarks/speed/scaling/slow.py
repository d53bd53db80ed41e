"""An environment that waits: nodes that share two cores can all play it at the same time."""

from __future__ import annotations

import time
from collections.abc import Mapping
from types import MappingProxyType
from typing import ClassVar

import numpy as np

from reglue import Discrete, Step, TaskSpec, TensorSpec
from reglue.messages.environment_messages import Cell
from reglue.spec import Arrays

_SEEN: Arrays = {"place": np.zeros(1)}


class Slow:
    """Episodes of one step, which takes `step_s` seconds and earns 1."""

    spec = TaskSpec(
        observations=(TensorSpec("place", "float64", (1,)),),
        actions=(TensorSpec("move", "int64", (), Discrete(2)),),
    )
    variants: ClassVar[Mapping[str, int]] = MappingProxyType({"wait": 1})
    standardizes = True
    tells_success = False

    def __init__(self, *, step_s: float) -> None:
        self._step_s = step_s

    def world(self) -> Slow:
        """One more slot."""
        return Slow(step_s=self._step_s)

    def start(self, _cell: Cell) -> Arrays:
        """The observation, `(1,)`."""
        return _SEEN

    def step(self, _action: Arrays) -> Step:
        """Wait; the episode is over."""
        time.sleep(self._step_s)
        return Step(1.0, _SEEN, terminated=True, truncated=False, success=False)

    def close(self) -> None:
        """Nothing to release."""
