"""Cheaper versions of the functions that Meta-World's rewards call, for one number or vector.

Each function returns its original's value and type, bit by bit, and calls the original for
other arguments. `step_is_verified` compares them with the originals on this machine.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import cache
from types import ModuleType
from typing import Any

import numpy as np
import numpy.typing as npt

from env_adapters.metaworld.library import is_verified, metaworld, mujoco

Floats = npt.NDArray[np.float64]

_REAL = (float, np.float64)
_NUMBER = np.float64
_FLOAT64 = np.dtype(np.float64)  # arrays have this very object


class BlasLengths:
    """Euclidean lengths as NumPy computes them, on every machine."""

    @staticmethod
    def of(vector: Floats) -> float:
        """The length of a vector, (n,)."""
        return math.sqrt(vector.dot(vector))

    @staticmethod
    def of_two(x: float, y: float) -> float:
        """The length of a vector of two numbers."""
        return BlasLengths.of(np.array((x, y)))


class PlainLengths:
    """Computes the same bits where BLAS does not fuse multiplication and addition."""

    @staticmethod
    def of(vector: Floats) -> float:
        """The length of a vector, (n,)."""
        if len(vector) == 3:
            x, y, z = vector.tolist()
            return math.sqrt(x * x + y * y + z * z)
        return math.sqrt(vector.dot(vector))

    @staticmethod
    def of_two(x: float, y: float) -> float:
        """The length of a vector of two numbers."""
        return math.sqrt(x * x + y * y)


@cache
def lengths_here() -> type[BlasLengths | PlainLengths]:
    """The cheapest class whose functions return NumPy's bits on this machine."""
    for vector in np.random.Generator(np.random.Philox(0)).normal(size=(1000, 3)):
        x, y, _ = vector.tolist()
        if PlainLengths.of(vector) != BlasLengths.of(vector):
            return BlasLengths
        if PlainLengths.of_two(x, y) != BlasLengths.of_two(x, y):
            return BlasLengths
    return PlainLengths


def norm_like(length: Callable[[Floats], float]) -> Callable[..., Any]:
    """`np.linalg.norm` of a vector or a number."""

    def norm(x: Any, ord: Any = None, axis: Any = None, keepdims: bool = False) -> Any:  # noqa: A002
        if axis is None and not keepdims and (ord is None or ord == 2):
            if type(x) is np.ndarray and x.ndim == 1 and x.dtype is _FLOAT64:
                return _NUMBER(length(x))
            if type(x) is _NUMBER and ord is None:
                return _NUMBER(math.sqrt(x * x))
        return np.linalg.norm(x, ord, axis, keepdims)

    return norm


def clip(x: Any, low: Any, high: Any, **options: Any) -> Any:
    """`np.clip`, which returns at once if nothing is out of bounds."""
    if type(x) in (np.float64, np.float32) and type(low) in (int, float) and low < x < high:
        return x
    return np.clip(x, low, high, **options)


def hstack(arrays: Sequence[Any]) -> npt.NDArray[Any]:
    """`np.hstack` of vectors."""
    for each in arrays:
        if type(each) is not np.ndarray or each.ndim != 1:
            return np.hstack(arrays)
    return np.concatenate(arrays)


def copy(array: Any) -> npt.NDArray[Any]:
    """`np.copy` of a vector."""
    if type(array) is np.ndarray and array.ndim == 1:
        return array.copy()
    return np.copy(array)


def tolerance_like(original: Callable[..., Any]) -> Callable[..., Any]:
    """`metaworld.utils.reward_utils.tolerance` for numbers, without arrays."""
    long_tail = float(np.sqrt(1 / 0.1 - 1))
    gaussian = float(np.sqrt(-2 * np.log(0.1)))
    exp = np.exp

    def tolerance(
        x: Any,
        bounds: tuple[Any, Any] = (0.0, 0.0),
        margin: Any = 0.0,
        sigmoid: str = "gaussian",
        value_at_margin: float = 0.1,
    ) -> Any:
        lower, upper = bounds
        if (
            type(x) not in _REAL
            or type(margin) not in _REAL
            or not margin > 0.0
            or not lower <= upper
            or value_at_margin != 0.1
        ):
            return original(x, bounds, margin, sigmoid, value_at_margin)
        if lower <= x <= upper:
            return 1.0
        distance = float(lower - x if x < lower else x - upper) / float(margin)
        try:
            # `**` and not a product: the two differ in their last bit now and then.
            if sigmoid == "long_tail":
                return 1.0 / ((distance * long_tail) ** 2 + 1.0)
            if sigmoid == "gaussian":
                return float(exp(-0.5 * (distance * gaussian) ** 2))
        except OverflowError:  # infinite, for NumPy
            pass
        return original(x, bounds, margin, sigmoid, value_at_margin)

    return tolerance


def numpy_like() -> Any:
    """A module like `numpy`, with the functions above in place of its own."""
    fast = _copy_of(np)
    fast.__dict__.update(clip=clip, copy=copy, hstack=hstack, linalg=_copy_of(np.linalg))
    fast.linalg.norm = norm_like(lengths_here().of)
    return fast


def _copy_of(module: ModuleType) -> Any:
    copied = ModuleType(module.__name__)
    copied.__dict__.update(module.__dict__)
    return copied


_RIGHT_ANGLE = 1e-13
"""Cosine up to which axes count as orthogonal; MuJoCo's are to about 1e-16, SciPy
straightens them from 1e-12 on."""


def rotation_like(original: Any) -> Any:
    """A class like SciPy's Rotation, with `from_matrix` and `as_quat` only."""

    class Rotation:
        __slots__ = ("_matrix",)

        def __init__(self, matrix: Floats) -> None:
            self._matrix = matrix

        from_matrix: Callable[[Floats], Any]

        def as_quat(self) -> Floats:
            fast = quaternion(self._matrix)
            return fast if fast is not None else original.from_matrix(self._matrix).as_quat()

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


@cache
def step_is_verified() -> bool:
    """Whether to trust the fast step in this process; takes some 10 ms, once."""
    return is_verified() and _arithmetic_agrees()


def _arithmetic_agrees() -> bool:
    """Our versions against NumPy's, SciPy's and metaworld's, on this machine's hardware."""
    rng = np.random.Generator(np.random.Philox(0))
    return all(
        _norms_agree(rng) and _tolerances_agree(rng) and _quaternions_agree(rng) for _ in range(100)
    )


def _norms_agree(rng: np.random.Generator) -> bool:
    norm = norm_like(lengths_here().of)
    vectors = [rng.normal(size=size) for size in (2, 3, 4)]
    number = np.float32(rng.normal())
    return all(_same(norm(each), np.linalg.norm(each)) for each in [*vectors, vectors[0][0]]) and (
        _same(clip(number, -1, 1), np.clip(number, -1, 1))
    )


def _tolerances_agree(rng: np.random.Generator) -> bool:
    original = metaworld("utils.reward_utils").tolerance
    ours = tolerance_like(original)
    x, upper, margin = rng.exponential(size=3)
    return all(
        _same(ours(x, (0, upper), margin, sigmoid), original(x, (0, upper), margin, sigmoid))
        for sigmoid in ("long_tail", "gaussian")
    )


def _quaternions_agree(rng: np.random.Generator) -> bool:
    rotation = metaworld("envs.sawyer_push_v3").Rotation
    direction, matrix = rng.normal(size=4), np.empty(9)
    mujoco().mju_quat2Mat(matrix, direction / np.linalg.norm(direction))
    ours = quaternion(matrix.reshape(3, 3))
    return _same(ours, rotation.from_matrix(matrix.reshape(3, 3)).as_quat())


def _same(ours: Any, theirs: Any) -> bool:
    return type(ours) is type(theirs) and np.array(ours).tobytes() == np.array(theirs).tobytes()
