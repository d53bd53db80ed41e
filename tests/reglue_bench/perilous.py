"""An environment that its agent can make fail in any way, and agents that do so when they lose."""

from __future__ import annotations

from typing import Any

import numpy as np

from reglue import (
    Actions,
    Agent,
    Box,
    Cell,
    Rng,
    Starts,
    Step,
    Steps,
    TaskSpec,
    TensorSpec,
)
from reglue.spec import Arrays
from tests.cheats.cheat_world import fail

RAW = "raises", "infinite", "illegal"
"""Ways to fail that leave the process alive."""


class Perilous:
    """An episode is a guess, whose success the agent sees, and a second step.

    If that is more than 0.9, the environment fails in the way `how`; else the episode is over.
    """

    variants = {"guess": 40}  # noqa: RUF012 - a Suite's member
    standardizes = True

    def __init__(self, how: str) -> None:
        self.how = how
        self.spec = TaskSpec(
            (TensorSpec("seen", "float64", (2,)),),
            (TensorSpec("action", "float64", (1,), Box((-1.0,), (1.0,))),),
            reward_range=(0.0, 1.0),
            horizon=2,
        )

    def world(self) -> Guess:
        return Guess(self.how)


class Guess:
    """One slot of it."""

    def __init__(self, how: str) -> None:
        self._how = how

    def start(self, cell: Cell) -> Arrays:
        self._good = bool(Rng(cell.seed, cell.variant * 1000 + cell.repeat).below(2))
        self._steps = 0
        return {"seen": np.zeros(2)}

    def step(self, action: Arrays) -> Step:
        chosen = float(action["action"][0])
        self._steps += 1
        if self._steps == 1:
            self._won = (chosen > 0) == self._good
            return Step(0.0, {"seen": np.array([1.0, self._won - 0.5])}, False, False, False)
        reward = float(self._won)
        if chosen > 0.9:
            reward = fail(self._how)
        return Step(reward, {"seen": np.zeros(2)}, True, False, self._won)

    def close(self) -> None:
        """There is nothing to release."""


class Gambler(Agent):
    """Guesses by the start's seed; as a `cheat` it makes the environment fail if it guessed wrong,
    or gives the episode up where `abandons`.
    """

    adapts = True  # so that meta-learning takes it

    def __init__(self, *, cheat: bool, abandons: bool = False) -> None:
        self.cheat, self.abandons = cheat, abandons
        self.seeds: list[int] = []  # of all starts

    def agent_start(self, observations: Arrays, starts: Starts) -> Any:
        self.seeds += starts.seeds.tolist()
        return np.where(starts.seeds % 2 == 0, 0.5, -0.5)[:, None]

    def agent_step(self, rewards: Any, observations: Arrays, steps: Steps) -> Any:
        lost = observations["seen"][:, 1] < 0
        if self.cheat and self.abandons and lost.any():
            actions = {"action": np.zeros((len(lost), 1))}
            return Actions(actions, abandon=tuple(steps.slots[lost].tolist()))
        return np.where(lost & self.cheat, 1.0, 0.0)[:, None]
