"""The results of a turn that a training loop stepped, a row for each slot."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from reglue.messages.agent_messages import ActionFlag
from reglue.messages.environment_messages import Slots
from reglue.spec import Array

# Numbers: NumPy looks for arrays in a member of an Enum.
_DEFAULTED, _CLIPPED = map(int, ActionFlag)

Mask: TypeAlias = npt.NDArray[np.bool_]
"""A flag for each slot, (S,)."""


@dataclass(frozen=True, slots=True)
class TurnResult:
    """The results of a turn for each slot, (S,) each."""

    rewards: npt.NDArray[np.float64]
    terminated: Mask
    truncated: Mask  # also if an environment failed, or the glue cut the episode off
    started: Mask  # a start waits that was not there before
    clipped: Mask | None = None  # the action before lay out of its bounds; None: nowhere
    defaulted: Mask | None = None  # the glue played a default
    void: Mask | None = None  # the environment failed
    cut_off: Mask | None = None  # the glue began another episode, or another phase
    is_plain: bool = False  # all slots stepped, and no flag above is set

    @property
    def ended(self) -> Mask:
        """The slots whose episode is over."""
        return self.terminated | self.truncated

    def flagged(self, slots: Slots, flags: Array) -> TurnResult:
        """The same with the ActionFlag bits of its steps, a row for each of `slots`."""
        if not any(flags.tobytes()):
            return self
        clipped, defaulted = (
            unless_empty(mask_of(slots, flags & bit != 0, len(self.rewards)))
            for bit in (_CLIPPED, _DEFAULTED)
        )
        return replace(self, clipped=clipped, defaulted=defaulted, is_plain=False)


def mask_of(slots: Slots, flags: Mask, count: int) -> Mask:
    """The flags of some slots, as a mask over all `count` of them."""
    mask = np.zeros(count, np.bool_)
    mask[slots] = flags
    return mask


def unless_empty(mask: Mask) -> Mask | None:
    """The mask; None if no slot is set."""
    return mask if 1 in mask.tobytes() else None
