"""Observers of a run."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from glue_server import Outcome
from reglue_bench.plans.plan import Plan

log = logging.getLogger("reglue")


@dataclass(frozen=True, slots=True)
class RunStarted:
    """A run that is about to play."""

    plan: Plan
    left: Sequence[int]  # units that are to be played, in their order
    executed: Callable[[], int]  # environment steps simulated so far in this session
    limits: Callable[[], str] = str  # a text that says how long a step may take now


class Observer(Protocol):
    """Observes a run. Nothing that it does changes a row."""

    def say(self, text: str) -> None:
        """Text for people."""

    def drawing(self, done: int, total: int) -> None:
        """Goals of `done` of `total` tasks are drawn."""

    def begin(self, begun: RunStarted) -> None:
        """Play starts."""

    def outcome(self, outcome: Outcome, phase: str) -> None:
        """An episode is over."""

    def end(self) -> None:
        """Play is over, however it ended."""


class NullObserver:
    """Logs the texts for people, such as how to join, and ignores everything else."""

    def say(self, text: str) -> None:
        """Log it."""
        log.warning("%s", text)

    def drawing(self, done: int, total: int) -> None:
        """Ignored."""

    def begin(self, begun: RunStarted) -> None:
        """Ignored."""

    def outcome(self, outcome: Outcome, phase: str) -> None:
        """Ignored."""

    def end(self) -> None:
        """Ignored."""
