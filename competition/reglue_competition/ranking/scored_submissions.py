"""The ranked submissions: one of each team, with its score over a phase's benchmarks."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

from reglue_bench.float_range import unit_of, within
from reglue_bench.results.result import Result
from reglue_bench.statistics import Interval
from reglue_competition.definition import Choose
from reglue_competition.store import Standing

Spread = tuple[float, Interval | None]
"""A score and its 95 % interval; None: too little is known of how it varies."""

ChosenBy: TypeAlias = Literal["best", "last", "team", "default"]
"""The reason why a submission counts for its team; `default`: the last, as it has chosen none."""

HOW_CHOSEN: Mapping[ChosenBy, str] = {
    "best": "its best",
    "last": "its last",
    "team": "chosen by the team",
    "default": "its last, as the team has chosen none",
}
"""These in words."""

NOTHING_PLAYED: Spread = (0.0, (0.0, 0.0))
"""A rate of which nothing was played: every planned episode counts as failure, for certain."""


@dataclass(frozen=True, slots=True)
class RankedBenchmark:
    """One benchmark of a phase."""

    name: str
    weight: float = 1.0  # in the mean over benchmarks, above 0
    is_rate: bool = True  # scores are 0 to 1, and what was not played scores 0
    void: str = ""  # why it counts in no total; empty: it counts
    scale: Interval | None = None  # the worst score and the best: 0 and 1 in the total

    @property
    def unit(self) -> float:
        """The divisor of a score in the total."""
        return 1.0 if self.scale is None else self.scale[1] - self.scale[0]

    def scaled(self, spread: Spread) -> Spread:
        """A score and its interval, as they count in the total."""
        if self.scale is None:
            return spread
        worst, (score, interval) = self.scale[0], spread
        of = (score - worst, interval and (interval[0] - worst, interval[1] - worst))
        return divided(of, self.unit)


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoredSubmission:
    """A submission that has ended, as it is ranked.

    `results` are its plays by the place of the benchmark; those that it never began are missing.
    """

    team: str
    submission: str  # its id
    order: float  # when it was entered, seconds: which of a team's is the last
    results: Mapping[int, Result]
    tries: int = 1  # submissions of its team that it was chosen from by their scores
    has_failed: bool = False  # its own fault ended it: what is missing counts as failure
    may_know: frozenset[str] = frozenset()  # what benchmarks hide and this phase tells everybody
    standing: Standing = "ranked"
    is_chosen: bool = False  # by its team, of all of its submissions

    @property
    def is_comparable(self) -> bool:
        """Whether it has a score like others: not if it is partial through no fault of its own, or
        knew more.
        """
        plays = self.results.values()
        is_whole = self.has_failed or all(each.complete for each in plays)
        is_privileged = not all(self.may_know.issuperset(each.privileged) for each in plays)
        return bool(plays) and is_whole and not is_privileged

    def chosen_by(self, choose: Choose) -> ChosenBy:
        """The reason why it counts for its team, if it does."""
        return "default" if choose == "team" and not self.is_chosen else choose

    def score(self, place: int, benchmark: RankedBenchmark) -> tuple[float | None, Interval | None]:
        """The score on one benchmark; None if the value of missing episodes is unknown."""
        if (result := self.results.get(place)) is not None:
            return result.score.value, result.interval95
        return NOTHING_PLAYED if benchmark.is_rate and self.has_failed else (None, None)

    def total(self, benchmarks: Sequence[RankedBenchmark]) -> tuple[float | None, Interval | None]:
        """The weighted mean over benchmarks, see `weighted_mean`."""
        counted = counted_in(benchmarks)
        scores = [self.score(place, each) for place, each in counted]
        known = [(score, interval) for score, interval in scores if score is not None]
        if len(known) < len(counted) or not counted:
            return None, None
        if len(counted) > 1:
            known = [uncut(spread, each) for spread, (_, each) in zip(known, counted, strict=True)]
        scaled = [each.scaled(spread) for spread, (_, each) in zip(known, counted, strict=True)]
        return weighted_mean(scaled, [each.weight for _, each in counted])


def counted_in(benchmarks: Sequence[RankedBenchmark]) -> list[tuple[int, RankedBenchmark]]:
    """The benchmarks that count, and their places among all."""
    return [(place, each) for place, each in enumerate(benchmarks) if not each.void]


def uncut(spread: Spread, benchmark: RankedBenchmark) -> Spread:
    """A score with its interval as it was before it was cut at the least that is possible.

    How a sum or a difference varies follows from whole intervals. Student's, of what is no rate, is
    as wide below its middle as above.
    """
    score, interval = spread
    if benchmark.is_rate or interval is None:
        return spread
    reach = max(score - interval[0], interval[1] - score)
    return score, (within(score - reach), within(score + reach))


def weighted_mean(scores: Sequence[Spread], weights: Sequence[float]) -> Spread:
    """The weighted mean of independent scores, and its 95 % interval.

    The variance is recovered from each interval, on either side by itself (MOVER, Zou, Huang &
    Zhang 2009, Computational Statistics & Data Analysis 53:1080). Of one benchmark it is that
    benchmark's interval. None if a score has none.
    """
    total, unit = math.fsum(weights), unit_of(*map(numbers_in, scores))
    of_unit = [divided(spread, unit) for spread in scores]
    mean = math.fsum(w * score for (score, _), w in zip(of_unit, weights, strict=True)) / total
    below, above = [], []
    for (score, interval), weight in zip(of_unit, weights, strict=True):
        if interval is None:
            return within(mean * unit), None
        below.append(weight * (score - interval[0]))
        above.append(weight * (interval[1] - score))
    low, high = mean - math.hypot(*below) / total, mean + math.hypot(*above) / total
    return within(mean * unit), (within(low * unit), within(high * unit))


def numbers_in(spread: Spread) -> Sequence[float]:
    """The score, and the ends of its interval."""
    return (spread[0], *(spread[1] or ()))


def divided(spread: Spread, unit: float) -> Spread:
    """The same in another unit."""
    score, interval = spread
    return score / unit, interval and (interval[0] / unit, interval[1] / unit)


def choose_submissions(
    entries: Iterable[ScoredSubmission],
    benchmarks: Sequence[RankedBenchmark],
    choose: Choose,
) -> list[ScoredSubmission]:
    """One entry for each team: its best (the earliest of equals), its last, or what it has chosen.

    A team that has chosen none has its last. Those that do not count by a ruling are tries like
    others, and never chosen.
    """
    best: dict[str, ScoredSubmission] = {}
    tries = Counter[str]()
    for entry in sorted(entries, key=lambda each: each.order):
        if not entry.is_comparable:
            continue
        tries[entry.team] += 1
        if entry.standing != "ranked":
            continue
        rival = best.get(entry.team)
        if rival is None or _replaces(entry, rival, benchmarks, choose):
            best[entry.team] = entry
    if choose == "last":
        return list(best.values())
    return [replace(entry, tries=tries[team]) for team, entry in best.items()]


def _replaces(
    entry: ScoredSubmission,
    rival: ScoredSubmission,
    benchmarks: Sequence[RankedBenchmark],
    choose: Choose,
) -> bool:
    """Whether an entry counts rather than an earlier rival of its team."""
    if choose == "last":
        return True
    if choose == "team":
        return not rival.is_chosen
    ours, theirs = entry.total(benchmarks)[0], rival.total(benchmarks)[0]
    return ours is not None and (theirs is None or ours > theirs)
