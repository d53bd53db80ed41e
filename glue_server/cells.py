"""Which episode each RL_start plays."""

from __future__ import annotations

import hashlib
import hmac

from reglue.calls import Phase
from reglue.worlds import Cell


class Cells:
    """The episodes of one run, numbered as they begin.

    All seeds are HMAC-SHA256, under a secret, of words in which the run's number and the
    episode's stand: the same program plays the same bits, and each RL_init other
    episodes. Without a secret the key follows from the run's seed, which an agent may
    guess; who hosts agents of others gives one.
    """

    def __init__(self, task: str, variant: int, *, seed: int, run: int, secret: str | None) -> None:
        self._task = task
        self._variant = variant
        self._run = f"{seed} {run}"
        own = f"reglue run secret {seed}" if secret is None else f"reglue own secret {secret}"
        self._key = hashlib.sha256(own.encode()).digest()
        self._starts = 0
        self._agent_starts = 0
        self._steps = 0

    def next(self, phase: Phase) -> Cell:
        """The next episode."""
        seed = self._words64(f"reglue episode {self._run} {self._starts}") >> 1
        cell = Cell(self._task, self._variant, seed, self._starts, phase, self._steps)
        self._starts += 1
        return cell

    def count(self, steps: int) -> None:
        """So many steps were taken, in all slots together."""
        self._steps += steps

    def start_seed(self, slot: int) -> int:
        """The seed of the agent's next start, 64 bits."""
        seed = self._words64(f"reglue start {self._run} {self._agent_starts} {slot}")
        self._agent_starts += 1
        return seed

    def _words64(self, words: str) -> int:
        return int.from_bytes(hmac.digest(self._key, words.encode(), hashlib.sha256)[:8])
