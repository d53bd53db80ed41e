"""Numbers, durations and lists as people read them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise

from reglue_bench.float_range import mean, share

_LEAST, _LEAST_SHARE = 3, 0.05  # episodes, and share of them, from which the time left is estimated
_ROUGH_FROM_S = 20.0  # from here on a smaller share gives a rough estimate
_BARS = "▁▂▃▄▅▆▇█"
_LEAST_WRITTEN_OUT, _MOST_WRITTEN_OUT = 1e-6, 1e15  # numbers without an exponent

STATUSES = {
    "success": "succeeded",
    "failure": "played to the end without success",
    "played": "played to their end",
    "agent_error": "the agent failed or answered wrongly",
    "agent_timeout": "the agent did not answer in time",
    "agent_disconnected": "the agent was lost",
    "agent_abandoned": "the agent gave up the episode",
    "crashed": "the environment failed, and again when the same actions were replayed, or the "
    "return was not finite",
    "environment_error": "the environment failed",
    "environment_lost": "the environment was lost in the middle of it",
    "missing": "not played",
}


def percent(rate: float) -> str:
    """`0.9891` is `98.9 %`."""
    return f"{_hundredths(rate)} %"


def points(difference: float) -> str:
    """A difference of rates in percentage points: `0.021` is `+2.1`."""
    figure = _hundredths(difference)
    return figure if figure == "0.0" or difference < 0 else f"+{figure}"


def percents(interval: tuple[float, float]) -> str:
    """`(0.9, 0.95)` is `90.0 to 95.0 %`."""
    return f"{_hundredths(interval[0])} to {percent(interval[1])}"


def value(amount: float) -> str:
    """A return or a reward, in the task's units: `−131.5`."""
    return number(amount).replace("-", "−")


def values(interval: tuple[float, float]) -> str:
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


def listed(items: Sequence[str]) -> str:
    """`a`, `a and b`, `a, b and c`."""
    *others, last = items
    return f"{', '.join(others)} and {last}" if others else last


def sentence(text: str) -> str:
    """`it is so` is `It is so.`"""
    return f"{text[0].upper()}{text[1:]}."


def isolation_text(isolation: str | None) -> str:
    """A text that says how the agent was isolated, and what you have to trust."""
    match isolation:
        case None:
            return "no agent has come yet"
        case "none" | "in process":
            return f"{isolation}: trust the score if you trust the agent's code"
        case "remote":
            return "remote: only the agent's host knows whether it learned between runs"
    return f"{isolation}, a sandbox"


def span(seconds: float) -> str:
    """`75` is `1 min 15 s`, `8460` is `2 h 21 min`."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f"{hours} h {minutes:02d} min"
    return f"{minutes} min {rest:02d} s" if minutes else f"{rest} s"


def milliseconds(seconds: float) -> str:
    """`0.13` is `130 ms`, `0.00042` is `0.42 ms`."""
    return f"{1000 * seconds:.0f} ms" if seconds >= 0.01 else f"{1000 * seconds:.2g} ms"


def time_left(passed_s: float, played: int, left: int, *, most_s: float = math.inf) -> str:
    """`1 min 15 s left`; empty while too little was played to tell, and at the end.

    `most_s` is what the steps that are left take at most, if that is known.
    """
    rough = played < _LEAST_SHARE * (played + left)
    if not left or (rough and passed_s < _ROUGH_FROM_S):
        return ""
    likely_s = passed_s / played * left if played >= _LEAST else math.inf
    if most_s < likely_s:
        return f"at most {span(most_s)} left"
    return f"{'about ' * rough}{span(likely_s)} left" if math.isfinite(likely_s) else ""


def number(value: float) -> str:
    """At least four digits: `-131.5`, `0.04217`, `123,456`, `1.000e+30`; never minus zero."""
    if value == 0 or not math.isfinite(value):
        return f"{value:z.1f}"
    if not _LEAST_WRITTEN_OUT <= abs(value) < _MOST_WRITTEN_OUT:
        return f"{value:.3e}"
    digits = max(0, 3 - math.floor(math.log10(abs(value))))
    return f"{value:z,.{min(digits, 6)}f}"


def sparkline(values: Sequence[float], *, low: float, high: float, width: int) -> str:
    """Means of at most `width` even parts of the values, as bars between `low` and `high`."""
    parts = min(width, len(values))
    ends = [len(values) * place // parts for place in range(parts + 1)] if parts else []
    means = [mean(values[a:b]) for a, b in pairwise(ends)]
    places = [round(share(each, low, high) * (len(_BARS) - 1)) for each in means]
    return "".join(_BARS[place] for place in places)
