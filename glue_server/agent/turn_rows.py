"""Rows of slots: the ends, the steps and the starts of which a turn is made."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np
import numpy.typing as npt

from reglue.messages.agent_messages import (
    NO_ENDS,
    NO_STARTS,
    NO_STEPS,
    EndKind,
    Ends,
    Phase,
    Starts,
    Steps,
    Turn,
)
from reglue.messages.environment_messages import Flags, Played, Slots
from reglue.messages.value import value
from reglue.spec import Array, Arrays, TaskSpec

# Numbers: NumPy looks for arrays in a member of an Enum.
_TERMINATED, _TRUNCATED, _VOID = map(int, EndKind)
_EVALUATE = Phase.EVALUATE


@value
class Rows:
    """One part of a turn: its ends, its steps or its starts."""

    slots: Slots  # (n,)
    marks: Array  # (n,): EndKind or ActionFlag bits, uint8, or seeds of starts, uint64
    observations: Arrays  # name -> (n, *shape), in the spec's order
    rewards: npt.NDArray[np.float64]  # (n,), of starts not looked at

    def __len__(self) -> int:
        return len(self.slots)

    def read_only(self) -> Rows:
        """Read-only views, for rows whose arrays somebody else owns."""
        return Rows(
            self.slots,
            self.marks,
            {name: _read_only(rows) for name, rows in self.observations.items()},
            _read_only(self.rewards),
        )

    def take(self, places: Array) -> Rows:
        """The rows at these places, (n,)."""
        # Not `rows[places]`, which takes ten times as long for rows of a few numbers.
        return Rows(
            self.slots.take(places),
            self.marks.take(places),
            {name: rows.take(places, 0) for name, rows in self.observations.items()},
            self.rewards.take(places),
        )

    def where(self, mask: Flags) -> Rows:
        """The rows of a mask, (rows,)."""
        return self.take(mask.nonzero()[0])

    def only(self, slots: Collection[int]) -> Rows:
        """The rows of those slots."""
        return self.where(among(self.slots, slots))

    def merged(self, others: Rows) -> Rows:
        """Both, by slot; the slots differ."""
        if not (self and others):
            return self or others
        slots = np.concatenate([self.slots, others.slots])
        return Rows(
            slots,
            np.concatenate([self.marks, others.marks]),
            {
                name: np.concatenate([rows, others.observations[name]])
                for name, rows in self.observations.items()
            },
            np.concatenate([self.rewards, others.rewards]),
        ).take(slots.argsort())


def among(slots: Slots, some: Collection[int]) -> npt.NDArray[np.bool_]:
    """Flags of those of `slots` that are in `some`, (rows,).

    NumPy's `isin`, for a few, takes as long as all else in a turn.
    """
    named = np.zeros(1 + max(slots.max(initial=0), *some, 0), np.bool_)
    named[[*some]] = True
    return named[slots]


def _read_only(rows: Array) -> Array:
    view = rows.view()
    view.setflags(write=False)
    return view


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

    A turn of one part has the arrays of its rows, as nearly all have; of several, copies.
    """
    told = [*filter(None, (ends, steps, starts))] or [no_rows(spec)]
    seen, rewards = told[0].observations, told[0].rewards
    if len(told) > 1:
        seen, rewards = _joined(spec, told)
    if starts:
        rewards = rewards[: -len(starts)]
    if phase is _EVALUATE and not spec.rewards_in_evaluation:
        rewards = np.full(len(rewards), np.nan)
    return Turn(
        phase,
        Ends(ends.slots, ends.marks) if ends else NO_ENDS,
        Steps(steps.slots, steps.marks) if steps else NO_STEPS,
        Starts(starts.slots, starts.marks) if starts else NO_STARTS,
        rewards,
        seen,
    )


def _joined(spec: TaskSpec, told: Sequence[Rows]) -> tuple[dict[str, Array], Array]:
    """Observations and rewards of several parts."""
    seen = {
        tensor.name: np.concatenate([rows.observations[tensor.name] for rows in told])
        for tensor in spec.observations
    }
    return seen, np.concatenate([rows.rewards for rows in told])


def ends_and_steps(
    slots: Slots, flags: Array, played: Played, void: npt.NDArray[np.bool_] | None
) -> tuple[Rows | None, Rows]:
    """The ends and the steps of a Play of steps alone.

    `flags` are ActionFlag bits; where `void`, (rows,), the environment has failed.
    """
    rows = Rows(slots, flags, played.observations, played.rewards)
    over = played.terminated | played.truncated
    if void is not None:
        over |= void
    if 1 not in over.tobytes():
        return None, rows
    kinds = np.where(played.terminated, _TERMINATED, _TRUNCATED).astype(np.uint8)
    ends = Rows(slots, kinds, played.observations, played.rewards).where(over)
    if void is not None:
        _show_nothing(ends, void[over])
    return ends, rows.where(~over)


def _show_nothing(ends: Rows, void: npt.NDArray[np.bool_]) -> None:
    ends.marks[void] = _VOID
    ends.rewards[void] = 0.0
    for values in ends.observations.values():
        values[void] = 0
