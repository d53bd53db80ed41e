"""SciPy's `Rotation.from_matrix(matrix).as_quat()` in plain floats."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

_RIGHT_ANGLE = 1e-13
"""Cosine up to which axes count as orthogonal; MuJoCo's are to about 1e-16, SciPy
straightens them from 1e-12 on."""


def rotation_like(original: Any) -> Any:
    """A class like SciPy's Rotation, of which only quaternions are asked for."""

    class Rotation:
        __slots__ = ("_matrix",)

        def __init__(self, matrix: Floats) -> None:
            self._matrix = matrix

        from_matrix: Callable[[Floats], Any]

        def as_quat(self) -> Floats:
            found = quaternion(self._matrix)
            return found if found is not None else original.from_matrix(self._matrix).as_quat()

    Rotation.from_matrix = Rotation
    return Rotation


def quaternion(matrix: Floats) -> Floats | None:
    """x, y, z, w of a rotation matrix, (3, 3); None if its axes are not orthogonal.

    The largest of the four is computed first, as in Bar-Itzhack (2000) and SciPy: the
    same operations in the same order give the same bits.
    """
    (a, b, c), (d, e, f), (g, h, i) = matrix.tolist()
    if not (
        abs(a * d + b * e + c * f) < _RIGHT_ANGLE
        and abs(a * g + b * h + c * i) < _RIGHT_ANGLE
        and abs(d * g + e * h + f * i) < _RIGHT_ANGLE
    ):
        return None
    trace = a + e + i
    if trace > a and trace > e and trace > i:
        x, y, z, w = h - f, c - g, d - b, 1 + trace
    elif a >= e and a >= i:
        x, y, z, w = 1 - trace + 2 * a, d + b, g + c, h - f
    elif e >= i:
        x, y, z, w = b + d, 1 - trace + 2 * e, h + f, c - g
    else:
        x, y, z, w = c + g, f + h, 1 - trace + 2 * i, d - b
    length = math.sqrt(x * x + y * y + z * z + w * w)
    return np.array((x / length, y / length, z / length, w / length))
