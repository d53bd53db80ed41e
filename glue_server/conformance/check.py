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
    run: Callable[[Harness], None]  # raises ReglueError if the client fails, or Skipped


class Skipped(Exception):
    """The check does not apply to this client, by what the client declares."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """The result of a check."""

    name: str
    wanted: str
    passed: bool  # or skipped
    skipped: bool
    detail: str  # a text that says what went wrong, or why it was skipped; empty if it passed
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


Level = Literal["all", "core", "wire", "reconnect", "tls", "pipelining", "large"]

_CHECKS: dict[str, tuple[str, ...]] = {
    "reconnect": ("reconnect.*",),
    "tls": ("tls.*",),
    "pipelining": ("calls.*-under-way",),
    "large": ("tensors.largest-*",),
}
"""Level -> names of its checks. All other checks are of `core`."""

_FOR_ALL = (
    *("join.*", "tls.plays", "tls.stranger", "tls.wrong-name", "tls.no-tls"),
    *("calls.unknown-fields", "farewell.at-once", "farewell.in-mid-episode"),
)
_FOR_PEERS = (
    *("calls.message-first", "calls.one-slot", "calls.many-slots", "calls.init-again"),
    *("calls.after-cleanup", "calls.once", "refusals.taken", "broken.*"),
)
_OF_ANY_PROGRAM: dict[str, tuple[str, ...]] = {
    "agent": (
        *(*_FOR_ALL, *_FOR_PEERS, "calls.some-slots", "calls.*-under-way", "agent.waves"),
        *("turns.*", "tensors.*", "refusals.not-capable"),
    ),
    "environment": (
        *(*_FOR_ALL, *_FOR_PEERS, "environment.no-slots", "environment.adapt"),
        *("environment.repeats", "environment.abilities"),
    ),
    "experiment": (*_FOR_ALL, "farewell.leaves", "broken.unknown-answer"),
}
"""Role -> names of the checks of `wire`, but for those of `_OF_THE_KITS_PROGRAM`."""

_OF_THE_KITS_PROGRAM = ("turns.abandon", "turns.budget", "tensors.largest-*")


def is_of_level(check: str, role: str, level: Level) -> bool:
    """Whether a role's check of that name belongs to the level."""
    if level == "wire":
        is_of_any = _matches(check, _OF_ANY_PROGRAM[role])
        return is_of_any and not _matches(check, _OF_THE_KITS_PROGRAM)
    own = next((each for each, names in _CHECKS.items() if _matches(check, names)), "core")
    return level in ("all", own)


def _matches(check: str, names: tuple[str, ...]) -> bool:
    return any(fnmatchcase(check, each) for each in names)
