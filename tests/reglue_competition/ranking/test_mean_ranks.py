"""Totals over benchmarks of several measures."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pytest

from reglue_bench.results.result import Result
from reglue_competition.definition import Ranking
from reglue_competition.ranking import (
    Comparisons,
    RankedBenchmark,
    ScoredSubmission,
    rank,
    rule,
)
from reglue_competition.ranking.mean_ranks import mean_ranks
from tests.reglue_bench.made_results import Play, make_result
from tests.reglue_competition.ranking.test_ranks import RETURNS, entry, with_spread

MEAN_RANK = Ranking(total="mean rank", choose="last", ties="score")
SUCCESS = RankedBenchmark("MT10", weight=2.0)


def success(rate: float) -> Result:
    return make_result(Play(goals=2, rate=rate))


def returns(mean: float) -> Result:
    return with_spread(mean - 10, mean, mean + 10)


def table(
    entries: list[ScoredSubmission], *benchmarks: RankedBenchmark
) -> Mapping[str, tuple[int | None, float | None]]:
    """The rank and the mean rank of each team, the best first."""
    found = rank(entries, benchmarks, Comparisons(), MEAN_RANK)
    assert {each.interval95 for each in found} == {None}
    return {each.entry.team: (each.rank, each.score) for each in found}


def test_a_total_is_the_weighted_mean_of_ranks() -> None:
    """By hand: B and C tie on success, A and C on returns, D has failed before the returns.

    A (2·1 + 2.5) / 3, B (2·2.5 + 1) / 3, C (2·2.5 + 2.5) / 3, D (2·4 + 4) / 3.
    """
    teams = {
        "A": [success(2), returns(-150), success(-1)],
        "B": [success(0.5), returns(-100), success(2)],
        "C": [success(0.5), returns(-150), success(2)],
        "D": [success(-1)],
    }
    entries = [entry(name, *each, has_failed=name == "D") for name, each in teams.items()]
    void = RankedBenchmark("void", weight=9.0, void="its goal cannot be reached")
    expected = {"A": (1, 1.5), "B": (2, 2.0), "C": (3, 2.5), "D": (4, 4.0)}
    assert table(entries[::-1], SUCCESS, RETURNS, void) == expected
    assert list(table(entries[::-1], SUCCESS, RETURNS, void)) == ["A", "B", "C", "D"]
    without_b = {"A": (1, (2 * 1 + 1.5) / 3), "C": (2, (2 * 2 + 1.5) / 3), "D": (3, 3.0)}
    assert table([entries[0], *entries[2:]], SUCCESS, RETURNS, void) == without_b


@pytest.mark.parametrize("benchmark", [SUCCESS, RETURNS], ids=["success", "returns"])
def test_what_was_not_played_is_the_last(benchmark: RankedBenchmark) -> None:
    """Also where the worst possible score is known, and another team has it."""
    worst = success(-1) if benchmark is SUCCESS else returns(-1e6)
    entries = [
        entry("gone", success(2), has_failed=True),
        entry("too", success(2), has_failed=True),
        entry("bad", success(2), worst),
    ]
    assert mean_ranks(entries, [SUCCESS, benchmark]) == [
        (2 * 2 + benchmark.weight * each) / (2 + benchmark.weight) for each in (2.5, 2.5, 1)
    ]


def test_of_two_with_the_same_mean_rank_the_earlier_is_above() -> None:
    """Weighted by 0.1 and 0.3, ranks 1 and 3 are as good as 4 and 2, whatever floats say."""
    ranks = {"late": (1, 3), "early": (4, 2), "x": (2, 1), "y": (3, 4)}
    entries = [
        entry(team, *(returns(-float(each)) for each in of_benchmarks), order=float(order))
        for order, (team, of_benchmarks) in enumerate(ranks.items(), 1)
    ]
    entries[1] = replace(entries[1], order=0.0)
    found = table(entries, replace(RETURNS, weight=0.1), replace(RETURNS, weight=0.3))
    assert found == {"x": (1, 1.25), "early": (2, 2.5), "late": (3, 2.5), "y": (4, 3.75)}


def test_the_page_says_what_a_mean_rank_depends_on() -> None:
    assert "depends on who else is here" in rule(MEAN_RANK)
