"""Rows of single slots, stacked into one turn."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from reglue.calls import Ends, Phase, Starts, Steps, Turn
from reglue.spec import Array, Arrays, TaskSpec, TensorSpec


@dataclass(frozen=True, slots=True)
class Row:
    """One slot's part of a turn."""

    slot: int
    observation: Arrays
    mark: int  # EndKind of an end, StepFlag bits of a step, seed of a start
    reward: float = 0.0


def build_turn(
    spec: TaskSpec,
    phase: Phase,
    *,
    ends: Sequence[Row],
    steps: Sequence[Row],
    starts: Sequence[Row],
) -> Turn:
    """Stack rows: ends, then steps, then starts. Rewards that the spec withholds are NaN."""
    rows = [*ends, *steps, *starts]
    rewards = np.array([row.reward for row in (*ends, *steps)], np.float64)
    if phase is Phase.EVALUATE and not spec.rewards_in_evaluation:
        rewards[:] = np.nan
    rewards.flags.writeable = False  # as what comes from the wire: agents see no difference
    return Turn(
        phase=phase,
        ends=Ends(_slots(ends), np.array([row.mark for row in ends], np.uint8)),
        steps=Steps(_slots(steps), np.array([row.mark for row in steps], np.uint8)),
        starts=Starts(_slots(starts), np.array([row.mark for row in starts], np.uint64)),
        rewards=rewards,
        observations={tensor.name: _stack(tensor, rows) for tensor in spec.observations},
    )


def _stack(tensor: TensorSpec, rows: Sequence[Row]) -> Array:
    stacked = np.stack([row.observation[tensor.name] for row in rows]) if rows else tensor.empty(0)
    stacked.flags.writeable = False
    return stacked


def _slots(rows: Sequence[Row]) -> np.ndarray[tuple[int], np.dtype[np.uint32]]:
    return np.array([row.slot for row in rows], np.uint32)
