"""An environment of a simulated competition, which an agent can break, and such agents."""

from __future__ import annotations

import time
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from env_adapters import Cell, Step
from reglue import Agent, Box, Rng, Starts, Steps, TaskSpec, TensorSpec
from reglue.spec import Arrays
from reglue_bench.plans.keys import cell_key
from reglue_bench.plans.plan import Plan
from reglue_bench.procedures import procedure_of
from tests.simulator.virtual_processes import PerProcess

Manner = Literal["plays", "leaves", "wears", "raises", "hangs", "errs", "repeats"]

_STEPS = 2  # of an episode
_GOOD = 0.25  # a last reward above it is a success
_THINKS_S = 0.05  # of an agent, for an action
_HANGS_S = 15.0
_IDS = 2**52  # a float64 holds each
_worn: Any = PerProcess(lambda: SimpleNamespace(times=0))
"""Actions that wear, in this process. No start resets it, so that a replay may go otherwise."""


class Guessing:
    """An episode is two guesses, left or right, each of which earns something.

    Its observation is a number that no other episode has. Actions with `wears` above 0 set off a
    bug: the first one in a process has no effect, and each later one raises an error.
    """

    standardizes = True

    def __init__(self, variants: int = 10) -> None:
        self.variants = {"guess": variants}
        self.spec = TaskSpec(
            (TensorSpec("episode", "float64", ()),),
            (
                TensorSpec("guess", "float64", (1,), Box((-1.0,), (1.0,))),
                TensorSpec("wears", "float64", (1,), Box((0.0,), (1.0,))),
            ),
            reward_range=(0.0, 1.0),
            horizon=_STEPS,
        )

    def world(self) -> Guess:
        return Guess()


class Guess:
    """One slot of it."""

    def start(self, cell: Cell) -> Arrays:
        rng = Rng(cell.seed, cell.variant * 1000 + cell.repeat)
        self.gains = [rng.uniform() / 2 for _ in range(2)]
        self.episode, self._steps = float(rng.below(_IDS)), 0
        return self._seen()

    def step(self, action: Arrays) -> Step:
        if action["wears"][0] > 0:
            if _worn.times:
                raise ValueError("a second action that wears")
            _worn.times += 1
        self._steps += 1
        reward = self.gains[int(action["guess"][0] > 0)]
        is_over = self._steps == _STEPS
        return Step(reward, self._seen(), is_over, False, is_over and reward > _GOOD)

    def close(self) -> None:
        """There is nothing to release."""

    def _seen(self) -> Arrays:
        return {"episode": np.array(self.episode)}


def _guesses_right(skill: int, episode: Any) -> Any:
    return episode % 10 < skill


class Guesser(Agent):
    """Guesses by an episode's number and its skill, from 0 to 10, and remembers nothing.

    `meet` is called with the number of each episode that begins.
    """

    def __init__(self, skill: int, manner: Manner, meet: Callable[[float], None]) -> None:
        self._skill, self._manner, self._meet = skill, manner, meet

    def agent_start(self, observations: Arrays, starts: Starts) -> dict[str, npt.NDArray[Any]]:
        for each in observations["episode"].tolist():
            self._meet(each)
        return self._act(observations)

    def agent_step(
        self, rewards: npt.NDArray[np.float64], observations: Arrays, steps: Steps
    ) -> dict[str, npt.NDArray[Any]]:
        if self._manner == "raises":
            raise RuntimeError("a bug of the agent")
        if self._manner == "hangs":
            time.sleep(_HANGS_S)
        return self._act(observations)

    def _act(self, observations: Arrays) -> dict[str, npt.NDArray[Any]]:
        time.sleep(_THINKS_S)
        episodes = observations["episode"].reshape(-1, 1)
        return {
            "guess": np.where(_guesses_right(self._skill, episodes), 1.0, -1.0),
            "wears": np.full_like(episodes, float(self._manner == "wears")),
        }


def undisturbed(plan: Plan, secret: str | None, skill: int) -> list[tuple[int, bool, float]]:
    """The unit, success and return of each episode that an agent of that skill plays."""
    key, procedure, guess = cell_key(secret), procedure_of(plan), Guess()
    found = []
    for unit in range(procedure.units):
        guess.start(plan.order(unit, procedure.cells(unit)[0], b"", key).cell)
        gain = guess.gains[int(_guesses_right(skill, guess.episode))]
        found.append((unit, gain > _GOOD, _STEPS * gain))
    return found
