"""Mountain car: the engine is weaker than gravity, so the car swings out of the valley.

Sutton & Barto 2018, "Reinforcement Learning: An Introduction", 2nd edition, section 10.1,
example 10.1, pages 244 to 246. (Gymnasium's MountainCar differs: it ends after 200 steps,
and its track goes on to 0.6.)
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import ClassVar, NamedTuple

import numpy as np

from env_adapters.classic.sample_model import ClassicWorld, Transition
from reglue.rng import Rng
from reglue.spec import Arrays, Box, Discrete, TaskSpec, TensorSpec

LEFT, GOAL = -1.2, 0.5  # positions; the valley's bottom is at -π/6
FASTEST = 0.07  # position a step, either way
START = (-0.6, -0.4)
ENGINE, GRAVITY = 0.001, 0.0025


class Car(NamedTuple):
    """Position and velocity."""

    position: float
    velocity: float  # position a step


@dataclass(frozen=True, kw_only=True)
class MountainCar:
    """A Suite. Each step costs 1, including the one that reaches the goal.

    The observation is (position, velocity). Actions are 0: full throttle reverse,
    1: none, 2: full throttle forward.
    """

    horizon: int = 0  # steps to truncation; 0 means no limit, as in the book

    variants: ClassVar[Mapping[str, int]] = MappingProxyType({"mountain-car": 1})
    standardizes: ClassVar[bool] = True
    state_format: ClassVar[str] = "<dd"

    @property
    def spec(self) -> TaskSpec:
        bounds = Box((LEFT, -FASTEST), (GOAL, FASTEST))
        return TaskSpec(
            observations=(TensorSpec("observation", "float64", (2,), bounds),),
            actions=(TensorSpec("action", "int64", (), Discrete(3)),),
            reward_range=(-1.0, -1.0),
            horizon=self.horizon,
        )

    def world(self) -> ClassicWorld[Car]:
        return ClassicWorld(self)

    def begin(self, rng: Rng) -> Car:
        """Start at rest, near the bottom."""
        return Car(rng.uniform(*START), 0.0)

    def move(self, state: Car, action: int, rng: Rng) -> Transition[Car]:
        """The book's two equations; the left wall stops the car."""
        pull = ENGINE * (action - 1) - GRAVITY * cosine_of_triple(state.position)
        velocity = min(max(state.velocity + pull, -FASTEST), FASTEST)
        position = min(max(state.position + velocity, LEFT), GOAL)
        if position == LEFT:
            velocity = 0.0
        at_goal = position == GOAL
        return Transition(Car(position, velocity), -1.0, terminated=at_goal, success=at_goal)

    def observe(self, state: Car) -> Arrays:
        return {"observation": np.array(state, np.float64)}

    def recall(self, position: float, velocity: float) -> Car:
        if not (LEFT <= position < GOAL and -FASTEST <= velocity <= FASTEST):
            raise ValueError(f"position {position}, velocity {velocity}")
        return Car(position, velocity)


def cosine_of_triple(angle: float) -> float:
    """cos(3 × angle) for angles of at most 1.2, with the same bits on every platform.

    The last bit of `math.cos` depends on the C library, and 1000 steps of climbing show it.
    This is Taylor's series of the cosine up to degree 18 (the next term is below 2⁻⁵³), with
    cos 3a = 4 cos³ a - 3 cos a.
    """
    square, cosine = angle * angle, 1.0
    for degree in range(18, 0, -2):
        cosine = 1.0 - cosine * square / (degree * (degree - 1))
    return cosine * (4.0 * cosine * cosine - 3.0)
