"""What has been asked in an episode, so that it can be asked again of a fresh environment."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol, TypeAlias

import numpy as np

from reglue.messages.environment import (
    GetRandomSeed,
    GetState,
    Play,
    Played,
    SetRandomSeed,
    SetState,
)
from reglue.spec import Array

SlotRoutine: TypeAlias = GetState | SetState | GetRandomSeed | SetRandomSeed
"""What the environment of one slot carries out."""

NO_SLOTS = np.zeros(0, np.uint32)


@dataclass(frozen=True, slots=True)
class Recalled:
    """A call of one slot's episode: its start, a step, or a routine that changed the slot."""

    call: Play | SlotRoutine
    reward: float | None = None  # that the step earned; None: it is no step, or has no answer
    is_answered: bool = True


class Recall(Protocol):
    """Remembers the episodes that are on."""

    def recalled(self, slot: int) -> Iterator[Recalled]:
        """The calls of the slot's episode, in their order; none where there is no episode."""


@dataclass(slots=True)
class _Entry:
    call: Play | SlotRoutine
    rewards: Array | None = None  # of a Play's steps, (P,); None: there is no answer


class CallLog:
    """Every call since the oldest live episode began: a Recall for who keeps nothing else."""

    def __init__(self) -> None:
        self._began: dict[int, int] = {}  # by live slot: number of the call that it began with
        self._entries: deque[_Entry] = deque()
        self._first = 0  # number of the oldest entry
        self._unanswered: deque[_Entry] = deque()  # Plays

    def add(self, play: Play) -> None:
        """A Play is sent."""
        for slot in play.starts:
            self._begin(slot)
        self._entries.append(_Entry(play))
        self._unanswered.append(self._entries[-1])

    def answered(self, play: Play, played: Played) -> None:
        """The oldest Play is answered, for good."""
        self._unanswered.popleft().rewards = played.rewards.copy()  # the caller may change its own
        over = play.slots[played.terminated | played.truncated].tolist()
        for slot in (*over, *played.faults):
            self._began.pop(slot, None)
        oldest = min(self._began.values(), default=self._first + len(self._entries))
        while self._first < oldest:
            self._entries.popleft()
            self._first += 1

    def change(self, call: SlotRoutine) -> None:
        """A routine has changed its slot. A state that is set begins an episode."""
        if isinstance(call, SetState):
            self._begin(call.slot)
        self._entries.append(_Entry(call))

    def recalled(self, slot: int) -> Iterator[Recalled]:
        """See Recall."""
        if slot not in self._began:
            return
        for number in range(self._began[slot] - self._first, len(self._entries)):
            entry = self._entries[number]
            call = entry.call
            if not isinstance(call, Play):
                if call.slot == slot:
                    yield Recalled(call)
                continue
            is_answered = entry.rewards is not None
            if slot in call.starts:
                yield Recalled(start_of(slot, call), is_answered=is_answered)
            rows = call.slots == slot
            if rows.any():
                actions = {name: values[rows] for name, values in call.actions.items()}
                reward = None if entry.rewards is None else float(entry.rewards[rows][0])
                yield Recalled(Play(call.slots[rows], actions, {}), reward, is_answered)

    def _begin(self, slot: int) -> None:
        self._began[slot] = self._first + len(self._entries)


def start_of(slot: int, play: Play) -> Play:
    """The start of one slot, alone."""
    return Play(NO_SLOTS, {}, {slot: play.starts[slot]})
