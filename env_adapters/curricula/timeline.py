"""Which entry of a schedule is played, as a function of how far the run is."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Place:
    """The entry of an episode that begins after so many episodes, or steps, of the run."""

    entry: int  # its index in the schedule
    within: int  # episodes or steps of this entry so far
    end: int | None  # the entry's end, from the run's beginning; None: never


class Timeline:
    """Entries one after another, each as long as `durations` says.

    The last one goes on for ever. An entry of length 0 is still played for one episode, or one
    step, which the next one loses, as in the original (Meta Arcade, `curriculum_tools`): entry i
    ends at the sum of the durations up to it, but at least one later than the entry before it.
    """

    def __init__(self, durations: Sequence[int]) -> None:
        self._ends: list[int] = []
        total = end = 0
        for duration in durations:
            total += duration
            end = max(total, end + 1)
            self._ends.append(end)

    def at(self, position: int) -> Place:
        """After `position` episodes or steps."""
        last = len(self._ends) - 1
        entry = min(bisect_right(self._ends, position), last)
        begin = self._ends[entry - 1] if entry else 0
        return Place(entry, position - begin, self._ends[entry] if entry < last else None)
