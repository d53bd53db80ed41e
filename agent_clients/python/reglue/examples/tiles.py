"""Binary features: the tiles on which an observation lies.

Tile coding as in Sutton & Barto 2018, "Reinforcement Learning: An Introduction", 2nd
edition, section 9.5.4, pages 217 to 221. Tiles are counted exactly, not hashed: a learner keeps
weights only for tiles that have occurred.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Protocol

from reglue.errors import NotAnAgent
from reglue.spec import Box, Discrete, MultiDiscrete, TensorSpec

Bounds = Sequence[Sequence[float]]
"""(low, high) of each number."""


class Features(Protocol):
    """Maps an observation to the features that are 1; all others are 0."""

    count: int  # how many are 1 at a time

    def active(self, numbers: Sequence[float]) -> list[int]:
        """Their names, for an observation's numbers, row-major."""


def features(tensor: TensorSpec, *, tilings: int, tiles: int, bounds: Bounds | None) -> Features:
    """Tilings over a Box, within `bounds` or its own; for integers one feature for each value.

    Raises NotAnAgent for a Box without bounds, and for any other domain.
    """
    match tensor.domain:
        case Box():
            lows, highs = tensor.low().ravel().tolist(), tensor.high().ravel().tolist()
            pairs = bounds or list(zip(lows, highs, strict=True))
            _check_bounds(tensor, pairs)
            return Tilings(pairs, tilings=tilings, tiles=tiles)
        case Discrete(n, start):
            return Table((n,), start)
        case MultiDiscrete(n):
            return Table(n)
        case other:
            raise NotAnAgent(got=f"{tensor.name} of {other}", wanted="a Box or integers")


class Table:
    """A feature for every combination of integers."""

    count = 1

    def __init__(self, sizes: Sequence[int], start: int = 0) -> None:
        self._sizes = sizes
        self._start = start

    def active(self, numbers: Sequence[float]) -> list[int]:
        """The number of the combination."""
        place = 0
        for size, number in zip(self._sizes, numbers, strict=True):
            place = place * size + int(number) - self._start
        return [place]


class Tilings:
    """Grids of `tiles` to a side, each shifted a little against the others."""

    def __init__(self, bounds: Bounds, *, tilings: int, tiles: int) -> None:
        self.count = tilings
        self._tiles = tiles
        # Of each number: its low, tiles a unit, and how far each tiling is moved, in tiles.
        # In direction d tiling t is moved by t/tilings times 1, 3, 5, …: odd numbers keep
        # the tilings from lying along a diagonal (page 220, after Miller and Glanz 1996).
        self._sides = [
            (
                low,
                tiles / (high - low),
                [t * (2 * d + 1) % tilings / tilings for t in range(tilings)],
            )
            for d, (low, high) in enumerate(bounds)
        ]

    def active(self, numbers: Sequence[float]) -> list[int]:
        """One tile of each tiling; numbers out of bounds count as on the bounds."""
        active = list(range(self.count))
        cells = self._tiles + 1  # to a side: a grid that is moved needs one more
        for number, (low, scale, moves) in zip(numbers, self._sides, strict=True):
            place = min(max((number - low) * scale, 0.0), self._tiles)
            active = [
                tile * cells + int(place + move) for tile, move in zip(active, moves, strict=True)
            ]
        return active


def _check_bounds(tensor: TensorSpec, bounds: Bounds) -> None:
    if len(bounds) != tensor.size:
        raise NotAnAgent(tensor.name, got=f"bounds of {len(bounds)} numbers", wanted=tensor.size)
    for pair in bounds:
        low, high = pair
        if not (math.isfinite(low) and math.isfinite(high) and low < high):
            raise NotAnAgent(
                f"{tensor.name} has a number of {low} to {high}, and tiles need bounds: "
                "give bounds=[[low, high], …], a pair for each of its numbers"
            )
