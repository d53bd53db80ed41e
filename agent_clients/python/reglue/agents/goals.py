"""The goals that an agent has seen, slot by slot."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from reglue.errors import UsageError
from reglue.messages.agent import Turn
from reglue.spec import TaskSpec, TensorSpec


class Goals:
    """The newest rows of the tensors that are goals, by slot."""

    def __init__(self, tensors: list[TensorSpec], slots: int) -> None:
        self._rows = {
            tensor.name: np.zeros((slots, *tensor.shape), tensor.numpy_dtype) for tensor in tensors
        }
        self._seen = np.zeros(slots, bool)

    def see(self, turn: Turn) -> None:
        """Take the turn's rows; where a slot ends and starts, the start's."""
        for slots, first in _parts(turn):
            self._seen[slots] = True
            for name, rows in self._rows.items():
                rows[slots] = turn.observations[name][first : first + len(slots)]

    def of(self, slot: int) -> dict[str, npt.NDArray[Any]]:
        """Copies, by name. Raises UsageError."""
        if not 0 <= slot < len(self._seen):
            raise UsageError(f"got slot {slot}, wanted 0 to {len(self._seen) - 1}")
        if not self._seen[slot]:
            raise UsageError(f"nothing was seen in slot {slot} yet; wait for its agent_start")
        return {name: rows[slot].copy() for name, rows in self._rows.items()}


def shown_goals(spec: TaskSpec) -> Goals | None:
    """What will be seen of goals; None where the task shows none."""
    tensors = [tensor for tensor in spec.observations if _is_goal(tensor.name)]
    return Goals(tensors, spec.slots) if tensors else None


def _is_goal(name: str) -> bool:
    """A goal of several parts has them behind a slash."""
    return any(part.endswith("desired_goal") for part in name.split("/"))


def _parts(turn: Turn) -> list[tuple[npt.NDArray[np.uint32], int]]:
    """The slots of each part that is there, and its first row."""
    parts, first = [], 0
    for part in (turn.ends, turn.steps, turn.starts):
        if len(part):
            parts.append((part.slots, first))
            first += len(part)
    return parts
