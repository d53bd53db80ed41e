"""Random numbers of a TaskSpec's tensors, with extremes among them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from reglue.conformance.rule import elements
from reglue.spec import Array, Box, TensorSpec

_EXTREME = 0.2  # how often an element without bounds is one …
_MOST = 1000  # … of so many in a row


def random_rows(
    rng: np.random.Generator, tensors: Sequence[TensorSpec], rows: int
) -> dict[str, Array]:
    """Name -> (rows, *shape), each element within its domain; all finite."""
    memory = rng.integers(0, 2**32, rows, np.uint32)
    made = elements(memory, tensors)
    for tensor in tensors:
        if tensor.domain == Box():
            values = made[tensor.name].reshape(rows, tensor.size)[:, :_MOST]
            is_extreme = rng.random(values.shape) < _EXTREME
            values[is_extreme] = rng.choice(extremes(tensor.dtype), int(is_extreme.sum()))
    return made


def extremes(dtype: str) -> Array:
    """What is easily lost: the largest and smallest numbers, -0, halves of a byte."""
    match np.dtype(dtype).kind:
        case "b":
            return np.array([False, True])
        case "f":
            most, tiny = np.finfo(dtype).max, np.finfo(dtype).smallest_subnormal
            return np.array([most, -most, tiny, -0.0], dtype)
        case _:
            info = np.iinfo(dtype)
            return np.array([info.min, info.max, info.max - 1, 1, 127], dtype)
