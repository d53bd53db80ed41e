"""The episode that each RL_start plays."""

from __future__ import annotations

import hashlib
import hmac

from glue_server.routines.goals import SlotGoals
from reglue.messages.agent_messages import Phase
from reglue.messages.environment_messages import Cell


class Cells:
    """The episodes of one run, numbered as they begin.

    All seeds are HMAC-SHA256, under a secret, of words in which the run's number and the
    episode's stand: the same program plays the same episodes, and each RL_init others.
    Without a secret the key follows from the run's seed, which an agent may guess; who
    hosts agents of others gives one. The agent's seeds are its session's own if there
    is a `nonce`: what an agent saw before, it then cannot look up by them.
    """

    def __init__(
        self, goals: SlotGoals, *, seed: int, run: int, secret: str | None, nonce: str
    ) -> None:
        self.goals = goals
        self._run = f"{seed} {run}"
        self._agents_run = f"{seed} {run} {nonce}".rstrip()
        own = f"reglue run secret {seed}" if secret is None else f"reglue own secret {secret}"
        self._key = hashlib.sha256(own.encode()).digest()
        self._starts = 0
        self._agent_starts = 0
        self._steps = 0

    def next(self, slot: int, phase: Phase) -> Cell:
        """The next episode, in that slot."""
        goal = self.goals.start(slot)
        seed = self._words64(f"reglue episode {self._run} {self._starts}") >> 1
        cell = Cell(goal.task, goal.variant, seed, self._starts, phase, self._steps)
        self._starts += 1
        return cell

    def count(self, steps: int) -> None:
        """So many steps were taken, in all slots together."""
        self._steps += steps

    def start_seed(self, slot: int) -> int:
        """The seed of the agent's next start, 64 bits."""
        seed = self._words64(f"reglue start {self._agents_run} {self._agent_starts} {slot}")
        self._agent_starts += 1
        return seed

    def _words64(self, words: str) -> int:
        return int.from_bytes(hmac.digest(self._key, words.encode(), hashlib.sha256)[:8])
