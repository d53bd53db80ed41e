"""What environments answered, as rows of the agent's next turn."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from glue_server.agent.turns import Rows
from reglue.messages.agent import EndKind
from reglue.messages.environment import Played, Slots
from reglue.spec import Array


def ends_and_steps(
    slots: Slots, flags: Array, played: Played, void: npt.NDArray[np.bool_] | None
) -> tuple[Rows | None, Rows]:
    """Of a Play of steps alone: which episodes are over, and which go on.

    `flags` are ActionFlag bits; where `void`, (rows,), the environment has failed.
    """
    rows = Rows(slots, flags, played.observations, played.rewards)
    over = played.terminated | played.truncated
    if void is not None:
        over |= void
    if 1 not in over.tobytes():
        return None, rows
    kinds = np.where(played.terminated, EndKind.TERMINATED, EndKind.TRUNCATED).astype(np.uint8)
    ends = Rows(slots, kinds, played.observations, played.rewards).take(over)
    if void is not None:
        _show_nothing(ends, void[over])
    return ends, rows.take(~over)


def _show_nothing(ends: Rows, void: npt.NDArray[np.bool_]) -> None:
    ends.marks[void] = EndKind.VOID
    ends.rewards[void] = 0.0
    for values in ends.observations.values():
        values[void] = 0
