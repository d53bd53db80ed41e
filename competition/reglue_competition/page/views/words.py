"""Dates, statuses and scores in words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime

from reglue_bench.formatting import STATUSES, count, percent, percents, value, values
from reglue_bench.results.result import Measure
from reglue_bench.statistics import Interval

MEANINGS = {
    "waiting": "It is in the queue, and begins or goes on when its agent is here and a place free.",
    "playing": "It plays the benchmarks of its phase, one after another.",
    "finished": "It has played all that was planned.",
    "failed": "Its agent failed. What it did not play counts as failure.",
    "broken": "An environment or this server failed. It is not scored, and counts against no "
    "quota; the organiser can have it played again.",
    "cancelled": "The organiser cancelled it. It is not scored.",
    "withdrawn": "The team left before it began. It is not scored, and counts against no quota "
    "but one of its own: 20 a day.",
}


def minute(at: datetime | None) -> str:
    """`2026-11-23 14:05 UTC`; empty for no date."""
    return f"{at:%Y-%m-%d %H:%M} UTC" if at else ""


def second(at: datetime) -> str:
    """`2026-11-23 14:05:09`, of UTC."""
    return f"{at:%Y-%m-%d %H:%M:%S}"


def amount(score: float | None, measure: Measure | None) -> str:
    """A score; `–` without one."""
    if score is None:
        return "–"
    return percent(score) if measure is None else measure.amount(score)


def amounts(interval: Interval | None, measure: Measure | None) -> str:
    """An interval; empty without one."""
    if interval is None:
        return ""
    return percents(interval) if measure is None else measure.amounts(interval)


def total(score: float | None, measures: Sequence[Measure | None]) -> str:
    """A weighted mean over benchmarks: in percent where all are rates."""
    if score is None:
        return "–"
    return percent(score) if are_rates(measures) else value(score)


def totals(interval: Interval | None, measures: Sequence[Measure | None]) -> str:
    """The interval of such a mean; empty without one."""
    if interval is None:
        return ""
    return percents(interval) if are_rates(measures) else values(interval)


def are_rates(measures: Sequence[Measure | None]) -> bool:
    """Whether all scores are 0 to 1."""
    return all(measure is None or measure.is_rate for measure in measures)


def fault(status: str) -> str:
    """What happened to an episode."""
    return STATUSES.get(status, status)


def faults(counts: Mapping[str, int]) -> list[tuple[str, str]]:
    """What happened, and how often."""
    return [(fault(status), count(n)) for status, n in counts.items()]


def tries(episodes: int) -> list[tuple[str, str]]:
    """Episodes of a second or later try, if there are any."""
    what = "played again, as the server was stopped while they were played"
    return [(what, count(episodes))] if episodes else []
