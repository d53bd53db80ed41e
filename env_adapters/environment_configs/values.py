"""The values in a config, paths to them, and the error that names a path."""

from __future__ import annotations

import sys
from numbers import Integral
from typing import Any, TypeAlias, TypeGuard

from reglue.errors import BadArgument

JSON: TypeAlias = Any
"""None, bool, int, float, str, a list of JSON or a dict of str to JSON."""


class ConfigError(BadArgument):
    """A mistake in a config or a schedule; `path` leads to it, such as `ball.color[2]`."""

    def __init__(self, path: str, what: str = "", *, got: object = "", wanted: object = "") -> None:
        super().__init__(path or "the config", what, got=got, wanted=wanted)
        self.path, self.what = path, what

    def within(self, path: str) -> ConfigError:
        """The same mistake, in a config at `path` of a larger one."""
        dot = "." if path and self.path and not self.path.startswith("[") else ""
        return ConfigError(f"{path}{dot}{self.path}", self.what, got=self.got, wanted=self.wanted)


def is_number(value: object) -> TypeGuard[int | float]:
    """Whether `value` is an int or a float, and not a bool."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def is_finite(value: object) -> bool:
    """Whether `value` is a number that is finite as a float."""
    return is_number(value) and abs(value) <= sys.float_info.max


def is_whole(value: object) -> TypeGuard[int]:
    """Whether `value` is an integer, also one of NumPy's, and not a bool."""
    return isinstance(value, Integral) and not isinstance(value, bool)


def inside(path: str, key: str | int) -> str:
    """The path of an entry: `ball.speed`, `colors[2]`."""
    if isinstance(key, int):
        return f"{path}[{key}]"
    return f"{path}.{key}" if path else key
