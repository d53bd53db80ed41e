"""Checks of arguments that come from command lines and files."""

from __future__ import annotations

import math
from numbers import Integral, Real

from reglue.errors import BadArgument

DRAWS = {"render_mode": "rgb_array"}
"""Gymnasium's keyword for environments whose `render` returns pictures."""


def check_integer(name: str, given: object, least: int) -> None:
    """Raise UsageError unless `given` is an integer of at least `least`."""
    if isinstance(given, bool) or not isinstance(given, Integral) or int(given) < least:
        raise BadArgument(f"got {name} {given!r}, wanted an integer from {least}")


def check_number(name: str, given: object) -> None:
    """Raise UsageError unless `given` is a finite number."""
    if isinstance(given, bool) or not isinstance(given, Real) or not math.isfinite(given):
        raise BadArgument(f"got {name} {given!r}, wanted a number")


def check_positive(name: str, given: object) -> None:
    """Raise UsageError unless `given` is a finite number above 0."""
    check_number(name, given)
    if not given > 0:  # type: ignore[operator]
        raise BadArgument(f"got {name} {given!r}, wanted a number above 0")


def check_flag(name: str, given: object) -> None:
    """Raise UsageError unless `given` is a bool: a word such as "no" would count as true."""
    if not isinstance(given, bool):
        raise BadArgument(f"got {name} {given!r}, wanted true or false")
