"""Access-control queuing: admit a customer, or keep the server for a better one?

Sutton & Barto 2018, "Reinforcement Learning: An Introduction", 2nd edition, section 10.3,
example 10.2, pages 251 and 252. The task is continuing: its measure is the average reward.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import ClassVar, NamedTuple

import numpy as np

from env_adapters.classic.sample_model import ClassicWorld, Transition
from reglue.rng import Rng
from reglue.spec import Arrays, Discrete, MultiDiscrete, TaskSpec, TensorSpec

SERVERS = 10
PRIORITIES = (1, 2, 4, 8)  # what a customer pays; equally likely
FREED = 0.06  # probability that a busy server is free at the next step


class Queue(NamedTuple):
    """The servers, and the first customer of an endless queue."""

    free: int  # servers, 0 to SERVERS
    first: int  # index of the customer's priority in PRIORITIES


@dataclass(frozen=True, kw_only=True)
class AccessControl:
    """A Suite. The reward is the priority of an accepted customer, else 0.

    The observation is (free servers, index of the first customer's priority in 1, 2, 4, 8).
    Actions are 0: reject, 1: accept; if no server is free, both reject.
    """

    horizon: int = 0  # steps to truncation; 0 means no limit, as in the book

    variants: ClassVar[Mapping[str, int]] = MappingProxyType({"access-control": 1})
    standardizes: ClassVar[bool] = True
    state_format: ClassVar[str] = "<qq"

    @property
    def spec(self) -> TaskSpec:
        sizes = MultiDiscrete((SERVERS + 1, len(PRIORITIES)))
        return TaskSpec(
            observations=(TensorSpec("observation", "int64", (2,), sizes),),
            actions=(TensorSpec("action", "int64", (), Discrete(2)),),
            reward_range=(0.0, float(PRIORITIES[-1])),
            horizon=self.horizon,
            continuing=True,
        )

    def world(self) -> ClassicWorld[Queue]:
        return ClassicWorld(self)

    def begin(self, rng: Rng) -> Queue:
        return Queue(SERVERS, rng.below(len(PRIORITIES)))

    def move(self, state: Queue, action: int, rng: Rng) -> Transition[Queue]:
        """Serve or reject the customer; then each busy server may become free, a new one too."""
        accepted = bool(action and state.free)
        free = state.free - accepted
        for _ in range(SERVERS - free):
            free += rng.uniform() < FREED
        reward = float(PRIORITIES[state.first]) if accepted else 0.0
        return Transition(Queue(free, rng.below(len(PRIORITIES))), reward)

    def observe(self, state: Queue) -> Arrays:
        return {"observation": np.array(state, np.int64)}

    def recall(self, free: int, first: int) -> Queue:
        if not (0 <= free <= SERVERS and 0 <= first < len(PRIORITIES)):
            raise ValueError(f"{free} free servers, priority {first}")
        return Queue(free, first)
