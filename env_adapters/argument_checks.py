"""Checks of arguments that come from command lines and files."""

from __future__ import annotations

import math
from numbers import Integral, Real

from reglue.errors import BadArgument

RENDER_KEYWORDS = {"render_mode": "rgb_array"}
"""Gymnasium's keyword for environments whose `render` returns pictures."""


def check_integer(name: str, value: object, least: int) -> None:
    """Raise UsageError unless `value` is an integer of at least `least`."""
    if isinstance(value, bool) or not isinstance(value, Integral) or int(value) < least:
        raise BadArgument(got=f"{name} {value!r}", wanted=f"an integer from {least}")


def check_number(name: str, value: object) -> None:
    """Raise UsageError unless `value` is a finite number."""
    if isinstance(value, bool) or not isinstance(value, Real) or not math.isfinite(value):
        raise BadArgument(got=f"{name} {value!r}", wanted="a number")


def check_positive(name: str, value: object) -> None:
    """Raise UsageError unless `value` is a finite number above 0."""
    check_number(name, value)
    if not value > 0:  # type: ignore[operator]
        raise BadArgument(got=f"{name} {value!r}", wanted="a number above 0")


def check_flag(name: str, value: object) -> None:
    """Raise UsageError unless `value` is a bool: a word such as "no" would count as true."""
    if not isinstance(value, bool):
        raise BadArgument(got=f"{name} {value!r}", wanted="true or false")
