"""Ranks of teams, by their totals: shared by those without a significant difference, or not."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import combinations
from statistics import NormalDist

from reglue.errors import UsageError
from reglue_bench.measures.compare import Difference
from reglue_bench.statistics import Interval
from reglue_competition.definition import Ranking
from reglue_competition.ranking.comparisons import Comparisons
from reglue_competition.ranking.mean_ranks import mean_ranks
from reglue_competition.ranking.scored_submissions import RankedBenchmark, ScoredSubmission

LEVEL = 0.05
"""The rate at most at which boards of equally good teams call one better than another."""

_SHARED = (
    "A team's rank is one more than the number of teams that are significantly better, so teams "
    "that cannot be told apart share a rank; within it they are sorted by score. No team ranks "
    "above one with a higher score. Whether one team is significantly better than another depends "
    "only on these two: p < {p:.1g}, from the cells that both played, where an episode that was "
    "not played to its end counts as the worst. So among {teams} teams that are equally good, any "
    "is called better than another in 5 % of competitions at most. If each team played its own "
    "cells, p follows from the intervals of their scores. If a team's best submission counts, or "
    "the one that it chooses, its p is first multiplied by the number of the team's scored "
    "submissions, as the best of many tries is partly luck."
)
_MORE = " There are {ranked} teams here, so it happens a little more often."
_BY_SCORE = (
    "Teams are ranked by their score; of two with the same one, that whose submission was entered "
    "first is above. Where the intervals of two teams overlap, their order may be luck."
)
_BY_MEAN_RANK = (
    "A mean rank is the weighted mean, over the benchmarks, of a team's rank on each among the "
    "teams on this leaderboard, so it depends on who else is here; 1 is the best. On a benchmark "
    "equal scores share the mean of their ranks, and a run without a score is the last. Of two "
    "teams with the same mean rank, that whose submission was entered first is above. How much of "
    "their order is luck is not known."
)


def rule(ranking: Ranking, ranked: int = 0) -> str:
    """The rule for ranks, as the page explains it; `ranked` teams are on the board."""
    if ranking.total == "mean rank":
        return _BY_MEAN_RANK
    if ranking.ties == "score":
        return _BY_SCORE
    text = _SHARED.format(p=level_of_a_pair(ranking.teams), teams=ranking.teams)
    return text + (_MORE.format(ranked=ranked) if ranked > ranking.teams else "")


def level_of_a_pair(teams: int) -> float:
    """The p-value below which a pair of so many teams is significant.

    So that of teams which are all equally good any pair is below it in at most `LEVEL` of cases
    (Bonferroni 1936, over all pairs). The number is the file's: no registration moves a rank.
    """
    return LEVEL / math.comb(teams, 2)


def cells_that_separate(teams: int, apart: float) -> int:
    """The number of cells that tells two of so many teams apart in four of five cases.

    Their success rates are near 50 %, and differ by `apart`. Cells that are as hard for both need
    fewer.
    """
    normal = NormalDist()
    needed = normal.inv_cdf(0.8) - normal.inv_cdf(level_of_a_pair(teams) / 2)
    return math.ceil(0.5 * (needed / apart) ** 2)


@dataclass(frozen=True, slots=True, kw_only=True)
class Ranked:
    """A team's place."""

    rank: int | None  # from 1, may be shared; None: it has no score
    entry: ScoredSubmission
    score: float | None  # its total
    interval95: Interval | None  # None: unknown, or of a mean rank


def rank(
    entries: Sequence[ScoredSubmission],
    benchmarks: Sequence[RankedBenchmark],
    comparisons: Comparisons,
    ranking: Ranking,
) -> list[Ranked]:
    """Rank submissions by `rule`, the best first; within a rank by total, then by time."""
    totals = _totals(entries, benchmarks, ranking)
    scores = {place: score for place, (score, _) in enumerate(totals) if score is not None}
    if ranking.ties == "score":
        ordered = sorted(
            scores, key=lambda at: (best_first(scores[at], ranking), *_entered(entries[at]))
        )
        ranks = {place: rank for rank, place in enumerate(ordered, 1)}
    else:
        scored = [entries[place] for place in scores]
        differences = _compare_all(scored, benchmarks, comparisons)
        level, places = level_of_a_pair(ranking.teams), range(len(scored))
        better = [
            sum(_is_better(other, place, scored, differences, level) for other in places)
            for place in places
        ]
        ranks = dict(zip(scores, _ranks(list(scores.values()), better), strict=True))
    ranked = [
        Ranked(rank=ranks.get(place), entry=entry, score=score, interval95=interval)
        for place, (entry, (score, interval)) in enumerate(zip(entries, totals, strict=True))
    ]
    return sorted(ranked, key=lambda each: _order(each, ranking))


def best_first(total: float | None, ranking: Ranking) -> float:
    """A key that sorts totals, the best first, and what has none last."""
    if total is None:
        return math.inf
    return total if ranking.total == "mean rank" else -total


def _totals(
    entries: Sequence[ScoredSubmission],
    benchmarks: Sequence[RankedBenchmark],
    ranking: Ranking,
) -> list[tuple[float | None, Interval | None]]:
    if ranking.total == "mean rank":
        return [(each, None) for each in mean_ranks(entries, benchmarks)]
    return [entry.total(benchmarks) for entry in entries]


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
    level: float,
) -> bool:
    """Whether entry `one` is better than the `other`, by their places.

    Its p-value is corrected for the tries of which it is the best (Bonferroni), and for nothing
    that other teams do: else teams that add nothing would make a lead insignificant.
    """
    pair = differences.get((max(one, other), min(one, other)))
    if pair is None or pair.p_value is None or (pair.difference > 0) != (one > other):
        return False
    return pair.p_value * entries[one].tries < level


def _ranks(scores: Sequence[float], better: Sequence[int]) -> list[int]:
    return [
        1 + max(better[place], *(better[k] for k, each in enumerate(scores) if each > score), 0)
        for place, score in enumerate(scores)
    ]


def _order(each: Ranked, ranking: Ranking) -> tuple[float, float, float, str]:
    rank = math.inf if each.rank is None else each.rank
    return rank, best_first(each.score, ranking), *_entered(each.entry)


def _entered(entry: ScoredSubmission) -> tuple[float, str]:
    return entry.order, entry.submission
