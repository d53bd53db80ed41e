"""Totals over benchmarks of any measures: the mean of a team's ranks."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from fractions import Fraction
from math import inf

from reglue_competition.ranking.scored_submissions import (
    RankedBenchmark,
    ScoredSubmission,
    counted_in,
)


def mean_ranks(
    entries: Sequence[ScoredSubmission], benchmarks: Sequence[RankedBenchmark]
) -> list[float]:
    """The weighted mean of each submission's ranks among all of them, from 1, the best.

    It is over the benchmarks that count. Equal scores share the mean of their ranks. A run without
    a score comes after all others, and so does one that was not played.
    """
    counted = counted_in(benchmarks)
    # Exact, with weights as the file writes them: totals that are equal stay so.
    weights = [Fraction(str(each.weight)) for _, each in counted]
    ranks = [_ranks([_score(entry, place) for entry in entries]) for place, _ in counted]
    return [
        float(sum(w * rank for w, rank in zip(weights, of_entry, strict=True)) / sum(weights))
        for of_entry in zip(*ranks, strict=True)
    ]


def _score(entry: ScoredSubmission, place: int) -> float:
    result = entry.results.get(place)
    score = None if result is None else result.score.value
    return -inf if score is None else score


def _ranks(scores: Sequence[float]) -> list[Fraction]:
    """The rank of each score, the highest first; a mean of several where scores are equal."""
    losses = sorted(-score for score in scores)
    return [
        Fraction(bisect_left(losses, -score) + 1 + bisect_right(losses, -score), 2)
        for score in scores
    ]
