"""Always takes the same action: shows an environment without control."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from reglue.agents.agent import Agent
from reglue.errors import NotAnAgent
from reglue.messages.agent_messages import Starts, Steps
from reglue.spec import (
    Array,
    Arrays,
    Box,
    Discrete,
    MultiBinary,
    MultiDiscrete,
    TaskSpec,
    TensorSpec,
)


class Constant(Agent):
    """Plays `action`, a number for every element or a list of an action's shape.

    If a task has several actions, each is `action`.
    """

    adapts = True  # it learns nothing, but meta-learning benchmarks may judge it

    partial_turns = True

    def __init__(self, action: float | Sequence[float] = 0) -> None:
        self.action = action

    def agent_init(self, spec: TaskSpec) -> None:
        """Raises NotAnAgent if the task has no such action."""
        for tensor in spec.actions:
            if not _is_action(tensor, np.asarray(self.action)):
                raise NotAnAgent(
                    got=f"action={self.action}",
                    wanted=(
                        f"{tensor.name} of shape {tensor.shape}, {tensor.dtype}, in {tensor.domain}"
                    ),
                )

    def agent_start(self, observations: Arrays, starts: Starts) -> Arrays:
        return self._act(len(starts))

    def agent_step(
        self, rewards: npt.NDArray[np.float64], observations: Arrays, steps: Steps
    ) -> Arrays:
        return self._act(len(steps))

    def _act(self, rows: int) -> Arrays:
        return {
            tensor.name: np.broadcast_to(np.asarray(self.action), (rows, *tensor.shape))
            for tensor in self.spec.actions
        }


def _is_action(tensor: TensorSpec, action: Array) -> bool:
    """Whether it is legal. Values beyond a Box are: the environment clips."""
    if action.dtype.kind not in "biuf" or action.shape not in ((), tensor.shape):
        return False
    with np.errstate(invalid="ignore", over="ignore"):
        cast = action.astype(tensor.dtype)
    if not (np.isfinite(cast).all() and (cast.dtype.kind == "f" or np.array_equal(cast, action))):
        return False
    match tensor.domain:
        case Discrete(n, start):
            return bool(((start <= action) & (action < start + n)).all())
        case MultiDiscrete(n):
            return bool(((action >= 0) & (action < np.reshape(n, tensor.shape))).all())
        case MultiBinary():
            return bool(((action == 0) | (action == 1)).all())
        case Box():
            return True
