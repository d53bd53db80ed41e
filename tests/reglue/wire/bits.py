"""Values with arrays in them, comparable to the bit."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np


def bits(value: Any) -> Any:
    """The same for values whose every bit is the same."""
    if isinstance(value, np.ndarray):
        return (str(value.dtype), value.shape, value.tobytes())
    if isinstance(value, Mapping):
        return [(key, bits(each)) for key, each in value.items()]
    if is_dataclass(value):
        return [type(value).__name__, *(bits(getattr(value, each.name)) for each in fields(value))]
    return value
