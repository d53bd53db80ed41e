"""Numbers and statuses for people."""

from __future__ import annotations

from collections.abc import Sequence

from reglue_bench.results.result import Interval
from reglue_bench.terminal.words import number, span

STATUSES = {
    "success": "succeeded",
    "failure": "played to the end without success",
    "played": "played to their end",
    "agent_error": "the agent failed or answered wrongly",
    "agent_timeout": "the agent did not answer in time",
    "agent_disconnected": "the agent was lost",
    "agent_abandoned": "the agent gave up the episode",
    "crashed": "the environment failed, and again when the same actions were replayed",
    "environment_error": "the environment failed",
    "missing": "not played",
}


def percent(rate: float) -> str:
    """`0.9891` is `98.9 %`."""
    return f"{_hundredths(rate)} %"


def points(difference: float) -> str:
    """A difference of rates in percentage points: `0.021` is `+2.1`."""
    told = _hundredths(difference)
    return told if told == "0.0" or difference < 0 else f"+{told}"


def percents(interval: Interval) -> str:
    """`(0.9, 0.95)` is `90.0 to 95.0 %`."""
    return f"{_hundredths(interval[0])} to {percent(interval[1])}"


def value(amount: float) -> str:
    """A return or a reward, in the task's units: `−131.5`."""
    return number(amount).replace("-", "−")


def values(interval: Interval) -> str:
    """`−152.1 to −148.3`."""
    return f"{value(interval[0])} to {value(interval[1])}"


def signed(difference: float) -> str:
    """A difference of returns: `+12.30`."""
    return value(difference) if difference <= 0 else f"+{value(difference)}"


def _hundredths(rate: float) -> str:
    return f"{100 * rate:z.1f}".replace("-", "−")


def p_value(p: float) -> str:
    """Three digits: 10,000 resamples give no more."""
    return "< 0.001" if p < 0.001 else f"{p:.3f}"


def count(amount: int) -> str:
    """`12345` is `12,345`."""
    return f"{amount:,}"


def seconds(duration_s: float) -> str:
    """`75` is `1 min 15 s`."""
    return f"{duration_s:.1f} s" if duration_s < 60 else span(duration_s)


def plural(amount: int, noun: str) -> str:
    """`1 goal`, `2 goals`."""
    return f"{count(amount)} {noun}{'' if amount == 1 else 's'}"


def listed(words: Sequence[str]) -> str:
    """`a`, `a and b`, `a, b and c`."""
    *others, last = words
    return f"{', '.join(others)} and {last}" if others else last


def sentence(words: str) -> str:
    """`it is so` is `It is so.`"""
    return f"{words[0].upper()}{words[1:]}."
