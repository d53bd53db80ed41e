"""Scores on a line from 0 to 1, with their intervals."""

from __future__ import annotations

from collections.abc import Sequence

from reglue_bench.report.views import Track
from reglue_bench.report.words import percent, percents, value, values
from reglue_bench.results.result import Interval, OnlineScore


def rate_track(rate: float, interval: Interval, *, ends: Sequence[str] = ()) -> Track:
    """A rate, 0 to 1, with its interval."""
    words = f"{percent(rate)}, 95 % interval {percents(interval)}"
    return Track(rate, *interval, words=words, ends=ends)


def value_tracks(scores: Sequence[OnlineScore]) -> list[Track | None]:
    """Performances on one scale, which holds every run and interval; None without spread.

    Also None where a run was not played to its end: the worst performance would dwarf the rest.
    """
    shown = [score for score in scores if len(score.completed) == len(score.runs)]
    seen = [each for score in shown for each in (*_of_runs(score), *(score.interval95 or ()))]
    low, high = (min(seen), max(seen)) if seen else (0.0, 0.0)
    return [_track(score, low, high) if score in shown and low < high else None for score in scores]


def _track(score: OnlineScore, least: float, most: float) -> Track | None:
    if score.performance is None:
        return None
    low, high = score.interval95 or (score.performance, score.performance)
    words = f"{value(score.performance)} on a scale from {value(least)} to {value(most)}"
    if score.interval95 is not None:
        words += f", 95 % interval {values(score.interval95)}"

    def place(amount: float) -> float:
        return (amount - least) / (most - least)

    return Track(
        at=place(score.performance),
        low=place(low),
        high=place(high),
        words=words,
        ends=(value(least), value(most)),
        marks=[place(each) for each in _of_runs(score)],
    )


def _of_runs(score: OnlineScore) -> list[float]:
    return [run.performance for run in score.completed if run.performance is not None]
