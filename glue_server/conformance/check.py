"""Checks of a client, their levels and their verdicts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from glue_server.conformance.harness import Harness


@dataclass(frozen=True, slots=True)
class Check:
    """One requirement of a client."""

    name: str  # group.what
    wanted: str  # a sentence
    run: Callable[[Harness], None]  # raises ReglueError if the client fails


@dataclass(frozen=True, slots=True)
class Verdict:
    """The result of a check."""

    name: str
    wanted: str
    passed: bool
    detail: str  # a text that says what went wrong; empty if nothing
    duration_s: float


def group(name: str, *functions: Callable[[Harness], None]) -> tuple[Check, ...]:
    """Checks named after their functions; the first lines of docstrings say what is wanted."""
    return tuple(
        Check(
            name=f"{name}.{function.__name__.replace('_', '-')}",
            wanted=(function.__doc__ or "").partition("\n")[0].rstrip("."),
            run=function,
        )
        for function in functions
    )


Level = Literal["all", "core", "reconnect", "tls", "pipelining", "large"]

_CHECKS: dict[str, tuple[str, ...]] = {
    "reconnect": ("reconnect.*",),
    "tls": ("tls.*",),
    "pipelining": ("calls.*-under-way",),
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
