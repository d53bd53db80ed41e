"""Competitions for tests."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from reglue_competition.definition import Definition

OPENS = datetime(2026, 1, 1, tzinfo=UTC)
CLOSES = datetime(2100, 1, 1, tzinfo=UTC)
AFTER = CLOSES + timedelta(days=30)


class Clock:
    """Stands still until a test sets `now`."""

    def __init__(self, now: datetime) -> None:
        self.now = now

    def __call__(self) -> datetime:
        return self.now


def phase(name: str = "public", **changes: Any) -> dict[str, Any]:
    """A table of a phase that is open for long."""
    made: dict[str, Any] = {
        "name": name,
        "kind": "public",
        "opens": OPENS,
        "closes": CLOSES,
        "benchmarks": [{"benchmark": "multi-task:gridworld"}],
        "needs_admission": False,  # which costs two runs
    }
    return made | changes


def private(**changes: Any) -> dict[str, Any]:
    """The phase after that."""
    made = phase("private", kind="private", opens=CLOSES, closes=AFTER)
    return made | changes


def practice(**changes: Any) -> dict[str, Any]:
    """A phase of practice that is open for as long as both: it stands before them."""
    return phase("practice", kind="practice", closes=AFTER) | changes


def definition(*phases: dict[str, Any], **changes: Any) -> Definition:
    """A competition of these phases, by default one public one, without quotas."""
    made: dict[str, Any] = {
        "name": "test",
        "title": "A test",
        "phases": list(phases) or [phase()],
        "quotas": {"at_once": None},
    }
    return Definition.model_validate(made | changes)
