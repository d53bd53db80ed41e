"""A TaskSpec's tensors as Gymnasium's spaces."""

from __future__ import annotations

import numpy as np
import pytest

from reglue.spaces import space_of
from reglue.spec import Box, TensorSpec


@pytest.mark.parametrize(
    ("dtype", "domain", "low", "high"),
    [
        ("int64", Box(), -(2**63), 2**63 - 1),
        ("uint64", Box(), 0, 2**64 - 1),
        ("int64", Box((0,)), 0, 2**63 - 1),
        ("int8", Box((-500,), (3,)), -128, 3),
        ("bool", Box(), False, True),
        ("float32", Box((), (1.5,)), -np.inf, 1.5),
    ],
)
def test_a_box_has_the_exact_bounds_of_its_dtype(
    dtype: str, domain: Box, low: float, high: float
) -> None:
    space = space_of([TensorSpec("seen", dtype, (2,), domain)])
    assert space.low.tolist() == [low] * 2
    assert space.high.tolist() == [high] * 2
