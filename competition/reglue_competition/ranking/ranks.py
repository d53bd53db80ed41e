"""Shared ranks: teams without a significant difference have the same one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import combinations

from reglue.errors import UsageError
from reglue_bench.measures.compare import Difference
from reglue_bench.statistics import Interval
from reglue_competition.ranking.comparisons import Comparisons
from reglue_competition.ranking.scored_submissions import RankedBenchmark, ScoredSubmission

LEVEL = 0.05
"""The significance level of a comparison of two teams."""

RULE = (
    "A team's rank is one more than the number of teams that are significantly better, so teams "
    "that cannot be told apart share a rank; within it they are sorted by score. No team ranks "
    "above one with a higher score. Whether one team is significantly better than another depends "
    "only on these two: p < 0.05, from the cells that both played, where an episode that was not "
    "played to its end counts as the worst. If each team played its own cells, p follows from the "
    "intervals of their scores. If a team's best submission counts, its p is first multiplied by "
    "the number of the team's scored submissions, as the best of many tries is partly luck."
)
"""How ranks are made, as the page explains it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ranked:
    """A team's place."""

    rank: int | None  # from 1, may be shared; None: it has no score
    entry: ScoredSubmission
    score: float | None
    interval95: Interval | None


def rank(
    entries: Sequence[ScoredSubmission],
    benchmarks: Sequence[RankedBenchmark],
    comparisons: Comparisons,
) -> list[Ranked]:
    """Rank submissions by `RULE`, the best first; within a rank by score, then by time."""
    totals = [entry.total(benchmarks) for entry in entries]
    scores = {place: score for place, (score, _) in enumerate(totals) if score is not None}
    scored = [entries[place] for place in scores]
    differences = _compare_all(scored, benchmarks, comparisons)
    values, places = list(scores.values()), range(len(scored))
    better = [
        sum(_is_better(other, place, scored, differences) for other in places) for place in places
    ]
    ranks = dict(zip(scores, _ranks(values, better), strict=True))
    ranked = [
        Ranked(rank=ranks.get(place), entry=entry, score=score, interval95=interval)
        for place, (entry, (score, interval)) in enumerate(zip(entries, totals, strict=True))
    ]
    return sorted(ranked, key=_order)


def _compare_all(
    entries: Sequence[ScoredSubmission],
    benchmarks: Sequence[RankedBenchmark],
    comparisons: Comparisons,
) -> dict[tuple[int, int], Difference]:
    """All comparable pairs: each later submission minus each earlier one, by their indexes."""
    differences = {}
    for earlier, later in combinations(range(len(entries)), 2):
        with suppress(UsageError):
            differences[later, earlier] = comparisons.compare(
                entries[later], entries[earlier], benchmarks
            )
    return differences


def _is_better(
    one: int,
    other: int,
    entries: Sequence[ScoredSubmission],
    differences: Mapping[tuple[int, int], Difference],
) -> bool:
    """Whether entry `one` is better than the `other`, by their places.

    Its p-value is corrected for the tries of which it is the best (Bonferroni), and for nothing
    that other teams do: else teams that add nothing would make a lead insignificant.
    """
    pair = differences.get((max(one, other), min(one, other)))
    if pair is None or pair.p_value is None or (pair.difference > 0) != (one > other):
        return False
    return pair.p_value * entries[one].tries < LEVEL


def _ranks(scores: Sequence[float], better: Sequence[int]) -> list[int]:
    return [
        1 + max(better[place], *(better[k] for k, each in enumerate(scores) if each > score), 0)
        for place, score in enumerate(scores)
    ]


def _order(each: Ranked) -> tuple[float, float, float, str]:
    rank = float("inf") if each.rank is None else each.rank
    return rank, -(each.score or 0.0), each.entry.order, each.entry.submission
