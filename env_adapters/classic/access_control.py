"""Access-control queuing: let a customer in, or keep the server for a better one?

Sutton & Barto 2018, "Reinforcement Learning: An Introduction", 2nd edition, section 10.3,
example 10.2, pages 251 and 252. It goes on forever: what counts is the reward a step.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import ClassVar, NamedTuple

import numpy as np

from env_adapters.classic.world import ClassicWorld, Moved
from reglue.rng import Rng
from reglue.spec import Arrays, Discrete, MultiDiscrete, TaskSpec, TensorSpec

SERVERS = 10
PRIORITIES = (1, 2, 4, 8)  # what a customer pays; each as likely
FREED = 0.06  # chance of a busy server to be free at the next step


class Queue(NamedTuple):
    """The servers, and who stands first in line; the line never ends."""

    free: int  # servers, 0 to SERVERS
    first: int  # place of the customer's priority in PRIORITIES


@dataclass(frozen=True, kw_only=True)
class AccessControl:
    """A Suite. The reward is the priority of a customer who was let in, or 0.

    The observation is (free servers, place of the first customer's priority in 1, 2, 4, 8).
    Actions are 0: reject, 1: accept; where no server is free, both reject.
    """

    horizon: int = 0  # steps to truncation; 0 means no limit, as in the book

    variants: ClassVar[Mapping[str, int]] = MappingProxyType({"access-control": 1})
    standardizes: ClassVar[bool] = True
    state_format: ClassVar[str] = "<qq"

    @property
    def spec(self) -> TaskSpec:
        """Two whole numbers in, a yes or a no out."""
        sizes = MultiDiscrete((SERVERS + 1, len(PRIORITIES)))
        return TaskSpec(
            observations=(TensorSpec("observation", "int64", (2,), sizes),),
            actions=(TensorSpec("action", "int64", (), Discrete(2)),),
            reward_range=(0.0, float(PRIORITIES[-1])),
            horizon=self.horizon,
            continuing=True,
        )

    def world(self) -> ClassicWorld[Queue]:
        """A queue for one more slot."""
        return ClassicWorld(self)

    def begin(self, chance: Rng) -> Queue:
        """All servers are free."""
        return Queue(SERVERS, chance.below(len(PRIORITIES)))

    def move(self, state: Queue, action: int, chance: Rng) -> Moved[Queue]:
        """Answer the first customer; then busy servers may become free, the new one too."""
        accepted = bool(action and state.free)
        free = state.free - accepted
        for _ in range(SERVERS - free):
            free += chance.uniform() < FREED
        reward = float(PRIORITIES[state.first]) if accepted else 0.0
        return Moved(Queue(free, chance.below(len(PRIORITIES))), reward)

    def observe(self, state: Queue) -> Arrays:
        """Free servers and the customer."""
        return {"observation": np.array(state, np.int64)}

    def recall(self, free: int, first: int) -> Queue:
        """The queue that was kept."""
        if not (0 <= free <= SERVERS and 0 <= first < len(PRIORITIES)):
            raise ValueError(f"{free} free servers, priority {first}")
        return Queue(free, first)
