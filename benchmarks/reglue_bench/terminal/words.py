"""Numbers as people read them, in the terminal."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise

_LEAST, _LEAST_SHARE = 3, 0.05  # that time left is told from: one episode says nothing
_ROUGH_FROM_S = 20.0  # from when it is told roughly, of a smaller share
_BARS = "▁▂▃▄▅▆▇█"


def isolation_words(isolation: str | None) -> str:
    """How the agent was isolated from the benchmark, and what you have to trust."""
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


def time_left(passed_s: float, played: int, left: int) -> str:
    """`1 min 15 s left`; empty while too little was played to tell, and at the end."""
    rough = played < _LEAST_SHARE * (played + left)
    if not left or played < _LEAST or (rough and passed_s < _ROUGH_FROM_S):
        return ""
    return f"{'about ' * rough}{span(passed_s / played * left)} left"


def number(value: float) -> str:
    """At least four digits: `-131.5`, `0.04217`, `123,456`; never minus zero."""
    if value == 0 or not math.isfinite(value):
        return f"{value:z.1f}"
    digits = max(0, 3 - math.floor(math.log10(abs(value))))
    return f"{value:z,.{min(digits, 6)}f}"


def sparkline(values: Sequence[float], *, low: float, high: float, width: int) -> str:
    """Means of at most `width` even parts of the values, as bars between `low` and `high`."""
    parts = min(width, len(values))
    ends = [len(values) * place // parts for place in range(parts + 1)] if parts else []
    means = [math.fsum(values[a:b]) / (b - a) for a, b in pairwise(ends)]
    reach = (high - low) or 1.0
    places = [round((mean - low) / reach * (len(_BARS) - 1)) for mean in means]
    return "".join(_BARS[min(max(place, 0), len(_BARS) - 1)] for place in places)
