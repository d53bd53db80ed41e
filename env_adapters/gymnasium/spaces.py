"""Gymnasium's spaces as tensors of a TaskSpec."""

from __future__ import annotations

from typing import Any

import numpy as np

from env_adapters.gymnasium.library import gymnasium
from reglue.errors import UsageError
from reglue.spec import Array, Box, Discrete, MultiBinary, MultiDiscrete, TensorSpec


def tensor(name: str, space: Any) -> TensorSpec:
    """The tensor whose values are those of `space`.

    Raises UsageError for the spaces that have none: Dict, Tuple, Text, …, and a
    MultiDiscrete that does not begin at 0.
    """
    spaces = gymnasium().spaces
    match space:
        case spaces.Box():
            domain: Any = Box(_bound(space.low, -np.inf), _bound(space.high, np.inf))
        case spaces.Discrete():
            domain = Discrete(int(space.n), int(space.start))
        case spaces.MultiDiscrete() if not space.start.any():
            domain = MultiDiscrete(tuple(space.nvec.ravel().tolist()))
        case spaces.MultiBinary():
            domain = MultiBinary()
        case _:
            known = "Box, Discrete, MultiDiscrete from 0 or MultiBinary"
            raise UsageError(f"the {name} space {space} is not supported yet; wanted {known}")
    return TensorSpec(name, str(space.dtype), tuple(space.shape), domain)


def _bound(values: Array, none: float) -> tuple[float, ...]:
    """No number where nothing is bounded, one where all elements are alike, else all."""
    flat = values.ravel().tolist()
    if not flat or any(each != flat[0] for each in flat):
        return tuple(map(float, flat))
    return () if flat[0] == none else (float(flat[0]),)
