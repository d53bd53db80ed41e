"""Rows of slots, put together to one turn."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from reglue.calls import NO_ENDS, NO_STARTS, NO_STEPS, Ends, Phase, Starts, Steps, Turn
from reglue.environment_calls import Slots
from reglue.spec import Array, Arrays, TaskSpec


@dataclass(frozen=True, slots=True)
class Rows:
    """One part of a turn: its ends, its steps or its starts."""

    slots: Slots  # (n,)
    marks: Array  # (n,): EndKind or StepFlag bits, uint8, or seeds of starts, uint64
    observations: Arrays  # name -> (n, *shape)
    rewards: npt.NDArray[np.float64]  # (n,), none for starts

    def __len__(self) -> int:
        return len(self.slots)

    def take(self, places: Array) -> Rows:
        """Those rows, by index or mask."""
        return Rows(
            self.slots[places],
            self.marks[places],
            {name: rows[places] for name, rows in self.observations.items()},
            self.rewards[places],
        )


def no_rows(spec: TaskSpec) -> Rows:
    """None at all."""
    nothing = np.zeros(0, np.uint32)
    observations = {tensor.name: tensor.empty(0) for tensor in spec.observations}
    return Rows(nothing, nothing, observations, np.zeros(0))


def turn_of(spec: TaskSpec, phase: Phase, *, ends: Rows, steps: Rows, starts: Rows) -> Turn:
    """Ends, then steps, then starts. Rewards that the spec withholds are NaN.

    Agents cannot write to its arrays, as they cannot to what comes from the wire.
    """
    told = [rows for rows in (ends, steps, starts) if len(rows.slots)] or [steps]
    rewards = _joined([rows.rewards for rows in told if rows is not starts] or [ends.rewards])
    if phase is Phase.EVALUATE and not spec.rewards_in_evaluation:
        rewards = np.full(len(rewards), np.nan)
    return Turn(
        phase=phase,
        ends=Ends(ends.slots, ends.marks) if len(ends.slots) else NO_ENDS,
        steps=Steps(steps.slots, steps.marks) if len(steps.slots) else NO_STEPS,
        starts=Starts(starts.slots, starts.marks) if len(starts.slots) else NO_STARTS,
        rewards=_frozen(rewards),
        observations={
            tensor.name: _frozen(_joined([rows.observations[tensor.name] for rows in told]))
            for tensor in spec.observations
        },
    )


def _joined(parts: list[Array]) -> Array:
    return parts[0] if len(parts) == 1 else np.concatenate(parts)


def _frozen(array: Array) -> Array:
    seen = array.view()
    seen.setflags(write=False)
    return seen
