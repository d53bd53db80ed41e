"""Agents that act on the sum of what they see, in a file and here."""

from __future__ import annotations

from typing import Any

import numpy as np

from reglue import Agent
from reglue.spec import Arrays, Discrete

DRIFTER = '''
"""An agent that sums what it sees, in words of its own."""

import reglue


class Drifter(reglue.Agent):
    def __init__(self, word="hm"):
        self.word = word

    def agent_init(self, spec):
        self.most = spec.actions[0].domain.n

    def act(self, observations):
        first = next(iter(observations.values()))
        return [int(abs(row).sum() * 1000) % self.most for row in first.reshape(len(first), -1)]

    def agent_start(self, observations, starts):
        return self.act(observations)

    def agent_step(self, rewards, observations, steps):
        return self.act(observations)

    def agent_message(self, message):
        return f"{self.word}: {message}"


class Leaver(Drifter):
    def agent_step(self, rewards, observations, steps):
        print("out of coffee", flush=True)
        raise SystemExit(3)


class Sleeper(Drifter):
    def agent_step(self, rewards, observations, steps):
        import threading

        threading.Event().wait()
'''


class Drifter(Agent):
    """As in the file."""

    def _act(self, observations: Arrays) -> list[int]:
        domain = self.spec.actions[0].domain
        assert isinstance(domain, Discrete)
        first = next(iter(observations.values()))
        sums = np.abs(first.reshape(len(first), -1)).sum(axis=1)
        return [int(each * 1000) % domain.n for each in sums]

    def agent_start(self, observations: Arrays, starts: Any) -> list[int]:
        return self._act(observations)

    def agent_step(self, rewards: Any, observations: Arrays, steps: Any) -> list[int]:
        return self._act(observations)
