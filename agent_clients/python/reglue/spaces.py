"""A TaskSpec's tensors as Gymnasium's spaces. It loads gymnasium."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from gymnasium import spaces

from reglue.spec import Box, Discrete, MultiBinary, MultiDiscrete, TensorSpec


def space_of(tensors: Sequence[TensorSpec]) -> Any:
    """The space of the tensors' values: their Dict, or the only tensor's own space."""
    each = {tensor.name: _space_of(tensor) for tensor in tensors}
    return each[tensors[0].name] if len(tensors) == 1 else spaces.Dict(each)


def _space_of(tensor: TensorSpec) -> Any:
    dtype = tensor.numpy_dtype
    match tensor.domain:
        case Box():
            low, high = (np.asarray(each) for each in (tensor.low(), tensor.high()))
            if dtype.kind in "ui":
                least, most = np.iinfo(dtype).min, np.iinfo(dtype).max
                low, high = np.clip(low, least, most), np.clip(high, least, most)
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
