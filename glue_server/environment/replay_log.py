"""What was asked of live episodes: enough to play each of them again from its start."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator

import numpy as np

from env_adapters import Cell
from reglue.messages.environment import Play


class ReplayLog:
    """The Plays since the oldest live episode began."""

    def __init__(self) -> None:
        self.deaths: dict[int, int] = {}  # by live slot: of workers that were playing it again
        self._cells: dict[int, Cell] = {}
        self._began: dict[int, int] = {}  # number of the Play that started it
        self._plays: deque[Play] = deque()
        self._first = 0  # number of the oldest Play that is kept

    @property
    def slots(self) -> list[int]:
        """Those whose episode is on, sorted."""
        return sorted(self._cells)

    def add(self, play: Play) -> None:
        """Take down what is asked."""
        for slot, cell in play.starts.items():
            self._cells[slot] = cell
            self._began[slot] = self._first + len(self._plays)
            self.deaths[slot] = 0
        self._plays.append(play)

    def forget(self, slots: Iterable[int]) -> None:
        """Their episodes are over."""
        for slot in slots:
            for told in (self._cells, self._began, self.deaths):
                told.pop(slot, None)
        oldest = min(self._began.values(), default=self._first + len(self._plays))
        while self._first < oldest:
            self._plays.popleft()
            self._first += 1

    def of(self, slot: int) -> Iterator[Play]:
        """Its start, then its steps, each a Play of its own."""
        nobody = np.zeros(0, np.uint32)
        yield Play(nobody, {}, {slot: self._cells[slot]})
        for number in range(self._began[slot] - self._first, len(self._plays)):
            play = self._plays[number]
            rows = play.slots == slot
            if rows.any():
                actions = {name: values[rows] for name, values in play.actions.items()}
                yield Play(play.slots[rows], actions, {})
