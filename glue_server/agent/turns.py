"""Rows of slots, put together to one turn."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from reglue.messages.agent import NO_ENDS, NO_STARTS, NO_STEPS, Ends, Phase, Starts, Steps, Turn
from reglue.messages.environment import Slots
from reglue.messages.value import value
from reglue.spec import Array, Arrays, TaskSpec


@value
class Rows:
    """One part of a turn: its ends, its steps or its starts."""

    slots: Slots  # (n,)
    marks: Array  # (n,): EndKind or ActionFlag bits, uint8, or seeds of starts, uint64
    observations: Arrays  # name -> (n, *shape), in the spec's order
    rewards: npt.NDArray[np.float64]  # (n,), of starts not looked at

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


def turn_of(
    spec: TaskSpec,
    phase: Phase,
    *,
    ends: Rows | None = None,
    steps: Rows | None = None,
    starts: Rows | None = None,
) -> Turn:
    """Ends, then steps, then starts. Rewards that the spec withholds are NaN.

    From now on nobody can write to arrays that are not the turn's alone.
    """
    told = [*filter(None, (ends, steps, starts))] or [no_rows(spec)]
    seen, rewards = _joined(spec, told) if len(told) > 1 else _alone(*told)
    if starts:
        rewards = rewards[: -len(starts)]
    if phase is Phase.EVALUATE and not spec.rewards_in_evaluation:
        rewards = np.full(len(rewards), np.nan)
    return Turn(
        phase,
        Ends(ends.slots, ends.marks) if ends else NO_ENDS,
        Steps(steps.slots, steps.marks) if steps else NO_STEPS,
        Starts(starts.slots, starts.marks) if starts else NO_STARTS,
        rewards,
        seen,
    )


def _alone(rows: Rows) -> tuple[dict[str, Array], Array]:
    """Observations and rewards of a turn that has one part, as nearly all have.

    They may be a program's as well, or be kept.
    """
    for array in (rows.rewards, *rows.observations.values()):
        array.setflags(write=False)
    return dict(rows.observations), rows.rewards


def _joined(spec: TaskSpec, told: Sequence[Rows]) -> tuple[dict[str, Array], Array]:
    """Of one that has several."""
    seen = {
        tensor.name: np.concatenate([rows.observations[tensor.name] for rows in told])
        for tensor in spec.observations
    }
    return seen, np.concatenate([rows.rewards for rows in told])
