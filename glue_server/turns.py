"""Rows of slots, put together to one turn."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from reglue.calls import Ends, Phase, Starts, Steps, Turn
from reglue.environment_calls import Slots
from reglue.spec import Array, Arrays, TaskSpec


@dataclass(frozen=True, slots=True)
class Rows:
    """One part of a turn: its ends, its steps or its starts."""

    slots: Slots  # (n,)
    marks: Array  # (n,): EndKind of an end, StepFlag bits of a step, seed of a start
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
    rewards = _joined([ends.rewards, steps.rewards])
    if phase is Phase.EVALUATE and not spec.rewards_in_evaluation:
        rewards = np.full(len(rewards), np.nan)
    return Turn(
        phase=phase,
        ends=Ends(ends.slots, ends.marks.astype(np.uint8, copy=False)),
        steps=Steps(steps.slots, steps.marks.astype(np.uint8, copy=False)),
        starts=Starts(starts.slots, starts.marks.astype(np.uint64, copy=False)),
        rewards=_frozen(rewards),
        observations=dict(_observations(spec, ends, steps, starts)),
    )


def _observations(spec: TaskSpec, *parts: Rows) -> Iterator[tuple[str, Array]]:
    for tensor in spec.observations:
        rows = [part.observations[tensor.name] for part in parts if len(part)]
        yield tensor.name, _frozen(_joined(rows) if rows else tensor.empty(0))


def _joined(parts: list[Array]) -> Array:
    parts = [part for part in parts if len(part)] or parts[:1]
    return parts[0] if len(parts) == 1 else np.concatenate(parts)


def _frozen(array: Array) -> Array:
    seen = array.view()
    seen.flags.writeable = False
    return seen
