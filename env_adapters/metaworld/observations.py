"""What an agent sees of Meta-World: the tensors, and how they are put together."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from reglue.agents.metaworld import ALL_TASKS
from reglue.spec import Arrays, Discrete, TensorSpec

FRAME_STACK = 39
"""Hand, gripper and objects, now and one step ago, and the goal: 18 + 18 + 3."""

ACTION = 4
"""Motion in x, y, z and the gripper's effort."""

_REWARD_SCALE = 10.0  # the largest reward; upstream's normalize_reward_in_recurrent_info


@dataclass(frozen=True, slots=True)
class Observations:
    """How observations are made; parts in the order of upstream's wrappers."""

    tasks: tuple[str, ...]  # in one-hot order
    one_hot: bool  # append which of `tasks` it is
    recurrent_info: bool  # append the action before, its reward / 10 and whether it ended
    dtype: Literal["float64", "float32"]
    reveal_tasks: bool  # add the tensor `task`

    def specs(self) -> tuple[TensorSpec, ...]:
        """`observation`, and `task` if it is revealed: an index into ALL_TASKS."""
        size = FRAME_STACK + self.one_hot * len(self.tasks) + self.recurrent_info * (ACTION + 2)
        observation = TensorSpec("observation", self.dtype, (size,))
        if not self.reveal_tasks:
            return (observation,)
        return observation, TensorSpec("task", "int64", (), Discrete(len(ALL_TASKS)))

    def view(self, task: str) -> View:
        """Of the episodes of `task`."""
        size = self.specs()[0].shape[0]
        blank = np.zeros(size, self.dtype)
        if self.one_hot:
            blank[FRAME_STACK + self.tasks.index(task)] = 1
        index = np.array(ALL_TASKS.index(task), np.int64)
        index.setflags(write=False)  # one for all steps
        return View(blank, self.recurrent_info, {"task": index} if self.reveal_tasks else {})


@dataclass(frozen=True, slots=True)
class View:
    """What an agent sees of one task's episodes."""

    blank: npt.NDArray[np.floating]  # (size,), with all that never changes
    recurrent_info: bool
    revealed: Arrays  # other tensors

    def first(self, frames: npt.NDArray[np.float64]) -> Arrays:
        """The observation of a start from the simulator's `frames`, (39,)."""
        observation = self.blank.copy()
        observation[:FRAME_STACK] = frames
        return {"observation": observation, **self.revealed}

    def later(
        self,
        frames: npt.NDArray[np.float64],
        *,
        action: npt.NDArray[np.float32],
        reward: float,
        ended: bool,
    ) -> Arrays:
        """The observation of a step: `frames` after it, the `action` as it was given."""
        seen = self.first(frames)
        if self.recurrent_info:
            recurrent = seen["observation"][-(ACTION + 2) :]
            recurrent[:ACTION] = action
            recurrent[ACTION] = reward / _REWARD_SCALE
            recurrent[ACTION + 1] = ended
        return seen
