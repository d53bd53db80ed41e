"""Recording of agents' observations and actions, packed while episodes are played.

Packed in parts, so that an episode of any length takes the same memory.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt

from glue_server.agent.actions import packed
from reglue.messages.environment_messages import Flags, Slots
from reglue.spec import Arrays, TaskSpec

PART_BYTES = 64 * 1024
"""Bytes of a part, unless a single observation is larger."""


@dataclass(frozen=True, slots=True)
class Observed:
    """The number of an episode's parts, and its end."""

    number: int
    parts: int
    terminated: bool
    truncated: bool  # both are false if an episode was cut off, or somebody was at fault


class ObservedParts(Protocol):
    """Takes the parts; called in the thread that plays."""

    def next_number(self) -> int:
        """The number of an episode that begins; no other has it."""

    def take(self, number: int, place: int, rows: bytes) -> None:
        """Part `place`, from 0, of an episode: whole observations, packed as on the wire.

        In the last one all rewards and then all actions of its steps follow.
        """


class ObservedSlots:
    """Packs what each slot sees."""

    def __init__(self, spec: TaskSpec, parts: ObservedParts) -> None:
        row_bytes = sum(tensor.row_bytes for tensor in spec.observations)
        self._names = [tensor.name for tensor in spec.observations]
        self._parts = parts
        self._most = max(1, PART_BYTES // max(1, row_bytes))  # observations in a part
        self._rows = np.empty((spec.slots, self._most, row_bytes), np.uint8)
        self._filled = np.zeros(spec.slots, np.int64)  # observations of the part under way
        self._numbers = np.zeros(spec.slots, np.int64)
        self._places = np.zeros(spec.slots, np.int64)
        self._terminated = np.zeros(spec.slots, np.bool_)
        self._truncated = np.zeros(spec.slots, np.bool_)

    def start(self, slots: Slots, observations: Arrays) -> None:
        """The first observations of episodes, (rows, …)."""
        at = slots.astype(np.intp)
        self._numbers[at] = [self._parts.next_number() for _ in at]
        for column in (self._filled, self._places, self._terminated, self._truncated):
            column[at] = 0
        self._add(at, observations)

    def step(self, slots: Slots, observations: Arrays, terminated: Flags, truncated: Flags) -> None:
        """Add the observations after steps, also the last ones of episodes, (rows, …)."""
        at = slots.astype(np.intp)
        self._terminated[at], self._truncated[at] = terminated, truncated
        self._add(at, observations)

    def end(self, slot: int, rewards: bytes, actions: bytes) -> Observed | None:
        """Hand over what is left of an episode; None if it has not begun.

        `rewards` and `actions` are those of its steps.
        """
        number = int(self._numbers[slot])
        if not number:
            return None
        self._hand_over(slot, rewards + actions)
        self._numbers[slot] = 0
        terminated, truncated = bool(self._terminated[slot]), bool(self._truncated[slot])
        return Observed(number, int(self._places[slot]), terminated, truncated)

    def _add(self, at: npt.NDArray[np.intp], observations: Arrays) -> None:
        filled = self._filled[at]
        self._rows[at, filled] = packed(observations[name] for name in self._names)
        self._filled[at] = filled + 1
        if filled.max(initial=0) + 1 >= self._most:
            for slot in at[filled + 1 >= self._most].tolist():
                self._hand_over(slot)

    def _hand_over(self, slot: int, more: bytes = b"") -> None:
        rows = self._rows[slot, : self._filled[slot]].tobytes() + more
        self._parts.take(int(self._numbers[slot]), int(self._places[slot]), rows)
        self._places[slot] += 1
        self._filled[slot] = 0
