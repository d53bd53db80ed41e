"""Levels of conformance: which checks a client has to pass for each."""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import Literal

Level = Literal["all", "core", "reconnect", "tls", "pipelining", "large"]

_CHECKS: dict[str, tuple[str, ...]] = {
    "reconnect": ("reconnect.*",),
    "tls": ("tls.*",),
    "pipelining": ("talk.*-under-way",),
    "large": ("tensors.largest-*",),
}
"""Level -> names of its checks. All other checks are of `core`."""


def is_of_level(check: str, level: Level) -> bool:
    """Whether a check of that name belongs to the level."""
    own = next(
        (each for each, names in _CHECKS.items() if any(fnmatchcase(check, n) for n in names)),
        "core",
    )
    return level in ("all", own)
