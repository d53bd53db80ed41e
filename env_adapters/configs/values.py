"""What a config is made of."""

from __future__ import annotations

import math
from typing import Any, TypeAlias, TypeGuard

JSON: TypeAlias = Any
"""None, bool, int, float, str, a list of JSON or a dict of str to JSON."""


def is_number(value: object) -> TypeGuard[int | float]:
    """An int or a float, and no bool."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def is_finite(value: object) -> bool:
    """A number that is neither NaN nor infinite."""
    return is_number(value) and math.isfinite(value)


def inside(path: str, key: str | int) -> str:
    """The path of an entry: `ball.speed`, `colors[2]`."""
    if isinstance(key, int):
        return f"{path}[{key}]"
    return f"{path}.{key}" if path else key


def told(path: str) -> str:
    """How a path begins an error's sentence."""
    return path or "the config"
