"""An environment, agent and meta-learner that cost next to nothing: communication remains."""

from __future__ import annotations

import time
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from reglue import Actions, Agent, Box, Discrete, Step, TaskSpec, TensorSpec, Turn
from reglue.messages.environment_messages import Cell
from reglue.spec import Arrays

NUMBERS = 4  # of an observation, float64, as cart-pole's
IMAGE = (480, 480, 3)  # uint8


class Light:
    """Four numbers that grow with every step; the reward is 1 and it never ends."""

    def __init__(self) -> None:
        self._seen = np.zeros(NUMBERS)

    def reset(self) -> npt.NDArray[np.float64]:
        """Begin again; float64 `(4,)`."""
        self._seen = np.zeros(NUMBERS)
        return self._seen

    def step(self, action: int) -> tuple[float, npt.NDArray[np.float64]]:
        """Reward and observation."""
        self._seen = self._seen + (1.0 + action)
        return 1.0, self._seen


class Image:
    """The same picture at every step."""

    def __init__(self) -> None:
        self._seen = np.random.default_rng(0).integers(0, 256, IMAGE, np.uint8)

    def reset(self) -> npt.NDArray[np.uint8]:
        """The picture, `(480, 480, 3)`."""
        return self._seen

    def step(self, action: int) -> tuple[float, npt.NDArray[np.uint8]]:
        """Reward and picture."""
        return 1.0, self._seen


class Suite:
    """Worlds of one of them; with a `horizon`, episodes of so many steps."""

    variants: ClassVar[Mapping[str, int]] = MappingProxyType({"light": 1})
    standardizes: ClassVar[bool] = True

    def __init__(self, *, image: bool = False, horizon: int = 0) -> None:
        self._make: type[Light | Image] = Image if image else Light
        self._horizon = horizon
        seen = TensorSpec("observation", "uint8", IMAGE, Box((0.0,), (255.0,)))
        self.spec = TaskSpec(
            observations=(seen if image else TensorSpec("observation", "float64", (NUMBERS,)),),
            actions=(TensorSpec("action", "int64", (), Discrete(2)),),
            horizon=horizon,
        )

    def world(self) -> LightWorld:
        """One more slot."""
        return LightWorld(self._make(), self._horizon)


class LightWorld:
    """A slot of a Suite."""

    def __init__(self, played: Light | Image, horizon: int) -> None:
        self._played = played
        self._horizon = horizon
        self._steps = 0

    def start(self, cell: Cell) -> Arrays:
        """Begin."""
        self._steps = 0
        return {"observation": self._played.reset()}

    def step(self, action: Arrays) -> Step:
        """Take a step."""
        self._steps += 1
        reward, seen = self._played.step(int(action["action"]))
        return Step(reward, {"observation": seen}, False, self._steps == self._horizon, False)

    def close(self) -> None:
        """Nothing to release."""


class Still(Agent):
    """Does nothing, in every slot."""

    partial_turns = True

    def turn(self, turn: Turn) -> Actions | Any:
        """Zeros, a row for each step and start."""
        return np.zeros(len(turn.steps) + len(turn.starts), np.int64)


class Learner:
    """A meta-learner whose actions follow its observations; it learns nothing."""

    def init(self) -> None:
        """A new trial."""

    def adapt_action(
        self, observations: npt.NDArray[np.float64]
    ) -> tuple[npt.NDArray[np.float32], dict[str, npt.NDArray[Any]]]:
        """Actions `(rows, 4)`, and no auxiliary outputs."""
        return self.eval_action(observations), {}

    def step(self, timestep: Any) -> None:
        """Nothing is learned."""

    def adapt(self) -> None:
        """Nothing is learned."""

    def eval_action(self, observations: npt.NDArray[np.float64]) -> npt.NDArray[np.float32]:
        """Actions `(rows, 4)`."""
        return np.sin(40.0 * observations[:, :4]).astype(np.float32)

    def reset(self, env_mask: npt.NDArray[np.bool_]) -> None:
        """Nothing is remembered."""


class SlotLearner(Agent):
    """Plays as the Learner, and answers each slot by itself, unless `partial_turns` is False.

    It thinks for `turn_ms` about each turn and then for `row_ms` about each of its rows.
    """

    adapts = True

    def __init__(
        self, *, partial_turns: bool = True, turn_ms: float = 0.0, row_ms: float = 0.0
    ) -> None:
        self.partial_turns = partial_turns
        self._turn_s, self._row_s = turn_ms / 1e3, row_ms / 1e3

    def turn(self, turn: Turn) -> Actions | Any:
        """Actions `(rows, 4)`, a row for each step and start."""
        seen = turn.observations["observation"][len(turn.ends) :]
        until = time.perf_counter() + self._turn_s + self._row_s * len(seen)
        while time.perf_counter() < until:  # as a policy on this processor
            pass
        return np.sin(40.0 * seen[:, :4]).astype(np.float32)
