"""The windy gridworld: find the way to the goal while the wind blows upwards.

Sutton & Barto 2018, "Reinforcement Learning: An Introduction", 2nd edition, section 6.4,
example 6.5, page 130; the options are exercises 6.9 and 6.10, page 131.

    . . . . . . . . . .
    . . . . . . . . . .
    . . . . . . . . . .
    S . . . . . . G . .
    . . . . . . . . . .
    . . . . . . . . . .
    . . . . . . . . . .
    0 0 0 1 1 1 2 2 1 0    wind, in cells
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import ClassVar, NamedTuple

import numpy as np

from env_adapters.classic.sample_model import ClassicWorld, Transition
from reglue.rng import Rng
from reglue.spec import Arrays, Discrete, TaskSpec, TensorSpec

ROWS, COLUMNS = 7, 10
WIND = (0, 0, 0, 1, 1, 1, 2, 2, 1, 0)  # cells that the wind of a column blows upwards

MOVES = ((-1, 0), (1, 0), (0, 1), (0, -1))  # up, down, right, left: rows, columns
DIAGONAL_MOVES = ((-1, 1), (1, 1), (1, -1), (-1, -1))


class Place(NamedTuple):
    """A cell of the grid; row 0 is the top."""

    row: int
    column: int


START, GOAL = Place(3, 0), Place(3, 7)


@dataclass(frozen=True, kw_only=True)
class GridWorld:
    """A Suite. Each step costs 1, including the one that reaches the goal.

    The observation is the number of the cell, row by row from the top left. Actions are
    up, down, right, left. The shortest path takes 15 steps.
    """

    kings_moves: bool = False  # also the four diagonals, as actions 4 to 7: 7 steps
    stochastic_wind: bool = False  # a cell more, a cell less or neither, a third each
    horizon: int = 0  # steps to truncation; 0 means no limit

    variants: ClassVar[Mapping[str, int]] = MappingProxyType({"gridworld": 1})
    standardizes: ClassVar[bool] = True
    state_format: ClassVar[str] = "<qq"

    @property
    def spec(self) -> TaskSpec:
        return TaskSpec(
            observations=(TensorSpec("observation", "int64", (), Discrete(ROWS * COLUMNS)),),
            actions=(TensorSpec("action", "int64", (), Discrete(len(self.moves))),),
            reward_range=(-1.0, -1.0),
            horizon=self.horizon,
        )

    @property
    def moves(self) -> tuple[tuple[int, int], ...]:
        """The motion of each action without wind: rows, columns."""
        return MOVES + DIAGONAL_MOVES if self.kings_moves else MOVES

    def world(self) -> ClassicWorld[Place]:
        return ClassicWorld(self)

    def begin(self, rng: Rng) -> Place:
        return START

    def move(self, state: Place, action: int, rng: Rng) -> Transition[Place]:
        """Move, with the wind of the column that the move starts in."""
        wind = WIND[state.column]
        if wind and self.stochastic_wind:
            wind += rng.below(3) - 1
        rows, columns = self.moves[action]
        place = Place(
            min(max(state.row + rows - wind, 0), ROWS - 1),
            min(max(state.column + columns, 0), COLUMNS - 1),
        )
        return Transition(place, -1.0, terminated=place == GOAL, success=place == GOAL)

    def observe(self, state: Place) -> Arrays:
        return {"observation": np.array(state.row * COLUMNS + state.column, np.int64)}

    def recall(self, row: int, column: int) -> Place:
        if not (0 <= row < ROWS and 0 <= column < COLUMNS and (row, column) != GOAL):
            raise ValueError(f"row {row}, column {column}")
        return Place(row, column)
