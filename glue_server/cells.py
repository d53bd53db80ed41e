"""Which episode each RL_start plays."""

from __future__ import annotations

import hashlib

from reglue.calls import Phase
from reglue.worlds import Cell


class Cells:
    """The episodes of one run, numbered as they begin.

    All seeds are SHA-256 of words in which the run's seed, its number and the episode's
    stand: the same program plays the same bits, and each RL_init other episodes.
    """

    def __init__(self, task: str, *, seed: int, run: int) -> None:
        self._task = task
        self._run = f"{seed} {run}"
        self._starts = 0
        self._agent_starts = 0

    def next(self, phase: Phase) -> Cell:
        """The next episode of the task's first variant."""
        seed = _words64(f"reglue episode {self._run} {self._starts}") >> 1
        cell = Cell(self._task, 0, seed, self._starts, phase)
        self._starts += 1
        return cell

    def start_seed(self, slot: int) -> int:
        """The seed of the agent's next start, 64 bits."""
        seed = _words64(f"reglue start {self._run} {self._agent_starts} {slot}")
        self._agent_starts += 1
        return seed


def _words64(words: str) -> int:
    return int.from_bytes(hashlib.sha256(words.encode()).digest()[:8])
