"""A maze's walls: depth-first, so that one way leads from any cell to any other."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import TypeAlias

import numpy as np

from env_adapters.arcade.body import Rect
from env_adapters.arcade.sections import MazeSettings

Lattice: TypeAlias = list[list[bool]]
"""Whether there is wall: cells at odd rows and columns, walls between them at even ones."""


def maze_walls(settings: MazeSettings, chance: np.random.Generator) -> list[Rect]:
    """Rectangles that cover the walls; one cell above and one below is open."""
    lattice = _carved(settings.rows, settings.cols, chance)
    for row in (0, -1):
        lattice[row][2 * int(chance.random() * settings.cols) + 1] = False
    x, y, width, height = settings.creation_area
    xs = _edges(x, width, settings.cols, settings.thickness)
    ys = _edges(y, height, settings.rows, settings.thickness)
    across = [
        (xs[start], ys[row], xs[end], ys[row + 1])
        for row, cells in enumerate(lattice)
        for start, end in _runs(cells)
    ]
    down = [
        (xs[col], ys[start], xs[col + 1], ys[end])
        for col, cells in enumerate(zip(*lattice, strict=True))
        for start, end in _runs(cells)
    ]
    return across + down


def _carved(rows: int, cols: int, chance: np.random.Generator) -> Lattice:
    lattice = [[True] * (2 * cols + 1) for _ in range(2 * rows + 1)]
    lattice[1][1] = False
    way = [(1, 1)]
    while way:
        row, col = way[-1]
        ahead = [
            (row + down, col + right)
            for down, right in ((-1, 0), (1, 0), (0, -1), (0, 1))
            if 0 < row + 2 * down < 2 * rows
            and 0 < col + 2 * right < 2 * cols
            and lattice[row + 2 * down][col + 2 * right]
        ]
        if not ahead:
            way.pop()
            continue
        door = ahead[int(chance.random() * len(ahead))]
        cell = (2 * door[0] - row, 2 * door[1] - col)
        for open_row, open_col in (door, cell):
            lattice[open_row][open_col] = False
        way.append(cell)
    return lattice


def _edges(start: float, length: float, cells: int, thickness: float) -> list[float]:
    """Where walls and corridors in turn begin, and the end."""
    pitch = (length - thickness) / cells
    return [start + n // 2 * pitch + n % 2 * thickness for n in range(2 * cells + 2)]


def _runs(cells: Sequence[bool]) -> Iterator[tuple[int, int]]:
    """Start and end of each wall of two or more; what stands alone is part of one across."""
    place = 0
    for wall, group in groupby(cells):
        length = len(list(group))
        if wall and length > 1:
            yield place, place + length
        place += length
