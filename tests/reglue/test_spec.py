"""Domains that are no tuples of numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from reglue import Box, MultiDiscrete, TensorSpec
from reglue.errors import SpecError
from tests.error_facts import raises


@pytest.mark.parametrize(
    ("domain", "got"),
    [
        (Box(0, 1), "low 0"),  # type: ignore[arg-type]
        (Box((), 1.0), "high 1.0"),  # type: ignore[arg-type]
        (Box(np.zeros(2), np.ones(2)), "low array([0., 0.])"),  # type: ignore[arg-type]
        (Box(None), "low None"),  # type: ignore[arg-type]
        (MultiDiscrete(5), "n 5"),  # type: ignore[arg-type]
    ],
)
def test_bounds_that_are_no_tuple_are_named(domain: Any, got: str) -> None:
    with raises(SpecError, "place", (0,), got=got):
        TensorSpec("place", "int64", (2,), domain)
