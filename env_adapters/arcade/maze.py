"""A maze's walls: depth-first, so that one way leads from any cell to any other."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby, pairwise
from typing import TypeAlias

import numpy as np

from env_adapters.arcade.body import Rect
from env_adapters.arcade.sections import MazeSettings

Lattice: TypeAlias = list[list[bool]]
"""Whether there is wall: cells at odd rows and columns, walls between them at even ones."""

Span: TypeAlias = tuple[float, float]
"""From, to."""


def maze_walls(settings: MazeSettings, chance: np.random.Generator) -> list[Rect]:
    """Rectangles that cover the walls; one cell above and one below is open."""
    lattice = _carved(settings.rows, settings.cols, chance)
    for row in (0, -1):
        lattice[row][2 * int(chance.random() * settings.cols) + 1] = False
    xs, ys = _edges(settings)
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


def corridors(settings: MazeSettings) -> tuple[list[Span], list[Span]]:
    """Left and right of the upright ones, top and bottom of the level ones."""
    xs, ys = _edges(settings)
    return list(pairwise(xs))[1::2], list(pairwise(ys))[1::2]


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


def _edges(settings: MazeSettings) -> tuple[list[float], list[float]]:
    """Where walls and corridors in turn begin, and the end: from the left, and from above."""
    x, y, width, height = settings.creation_area
    thickness = settings.thickness
    return (
        _line(x, width, settings.cols, thickness),
        _line(y, height, settings.rows, thickness),
    )


def _line(start: float, length: float, cells: int, thickness: float) -> list[float]:
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
