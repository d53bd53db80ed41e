"""Shared ranks: teams without a significant difference have the same one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from reglue_bench.report.pairs import is_beaten
from reglue_bench.results.result import Interval
from reglue_bench.statistics.compare import Difference, over_pairs
from reglue_competition.ranking.entries import Benchmark, Entry
from reglue_competition.ranking.pairs import Comparisons

RULE = (
    "A team's rank is one more than the number of teams that are significantly better, so teams "
    "that cannot be told apart share a rank. No team ranks above one with a higher score. "
    "“Significantly better” is judged on the cells that both played, with p < 0.05 after Holm's "
    "correction for all pairs of teams. Where faults of an agent's own leave nothing to test, the "
    "higher score is better."
)
"""How ranks are made, for people."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ranked:
    """A team's place."""

    rank: int | None  # from 1, may be shared; None: it has no score
    entry: Entry
    score: float | None
    interval95: Interval | None


def rank(
    entries: Sequence[Entry], benchmarks: Sequence[Benchmark], compared: Comparisons
) -> list[Ranked]:
    """By `RULE`, the best first; teams of one rank by score, then the earlier entry."""
    totals = [entry.total(benchmarks) for entry in entries]
    scores = {place: score for place, (score, _) in enumerate(totals) if score is not None}
    scored = [entries[place] for place in scores]
    found = over_pairs(scored, lambda one, other: compared.compare(one, other, benchmarks))
    values, places = list(scores.values()), range(len(scored))
    better = [
        sum(_is_better(other, place, scored, values, found) for other in places) for place in places
    ]
    ranks = dict(zip(scores, _ranks(values, better), strict=True))
    ranked = [
        Ranked(rank=ranks.get(place), entry=entry, score=score, interval95=interval)
        for place, (entry, (score, interval)) in enumerate(zip(entries, totals, strict=True))
    ]
    return sorted(ranked, key=_order)


def _is_better(
    one: int,
    other: int,
    entries: Sequence[Entry],
    scores: Sequence[float],
    found: Mapping[tuple[int, int], Difference],
) -> bool:
    """Whether entry `one` is better than the `other`, by their places."""
    pair = found.get((max(one, other), min(one, other)))
    if pair is None:
        return False
    if pair.p_value is None:
        return entries[other].has_faults and scores[one] > scores[other]
    return is_beaten(pair, by_later=one > other)


def _ranks(scores: Sequence[float], better: Sequence[int]) -> list[int]:
    return [
        1 + max(better[place], *(better[k] for k, each in enumerate(scores) if each > score), 0)
        for place, score in enumerate(scores)
    ]


def _order(each: Ranked) -> tuple[float, float, float, str]:
    rank = float("inf") if each.rank is None else each.rank
    return rank, -(each.score or 0.0), each.entry.order, each.entry.submission
