"""A TaskSpec's tensors as Gymnasium's spaces. It loads gymnasium."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from gymnasium import spaces

from reglue.spec import Array, Box, Discrete, MultiBinary, MultiDiscrete, TensorSpec


def space_of(tensors: Sequence[TensorSpec]) -> Any:
    """The space of the tensors' values: their Dict, or the only tensor's own space."""
    each = {tensor.name: _space_of(tensor) for tensor in tensors}
    return each[tensors[0].name] if len(tensors) == 1 else spaces.Dict(each)


def _space_of(tensor: TensorSpec) -> Any:
    dtype = tensor.numpy_dtype
    match tensor.domain:
        case Box():
            low, high = tensor.bounds() if dtype.kind == "f" else _integer_bounds(tensor)
            return spaces.Box(low.astype(dtype), high.astype(dtype), tensor.shape, dtype)
        case Discrete(n, start) if tensor.shape == ():
            return spaces.Discrete(n, start=start, dtype=dtype)
        case Discrete(n, start):
            shape = tensor.shape
            return spaces.MultiDiscrete(np.full(shape, n), dtype, start=np.full(shape, start))
        case MultiDiscrete(n):
            return spaces.MultiDiscrete(np.reshape(n, tensor.shape), dtype)
        case MultiBinary():
            return spaces.MultiBinary(tensor.shape)


def _integer_bounds(tensor: TensorSpec) -> tuple[Array, Array]:
    """The bounds of a Box of integers or booleans in its dtype, exact: no float holds int64's."""
    dtype = tensor.numpy_dtype
    ends = (0, 1) if dtype.kind == "b" else (np.iinfo(dtype).min, np.iinfo(dtype).max)
    limits = tensor.limits or tuple(np.array(end, dtype) for end in ends)
    low, high = (np.broadcast_to(limit, tensor.shape) for limit in limits)
    return low, high
