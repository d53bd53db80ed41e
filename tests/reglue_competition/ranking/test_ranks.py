"""Shared ranks of teams."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from statistics import NormalDist
from typing import Any

import gymnasium
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reglue_bench import evaluate
from reglue_bench.measures.compare import compare
from reglue_bench.results.learning import with_failed_runs
from reglue_bench.results.result import Result
from reglue_bench.results.scores import PerformanceScore
from reglue_competition.definition import Ranking
from reglue_competition.ranking import (
    Comparisons,
    RankedBenchmark,
    ScoredSubmission,
    rank,
    rule,
)
from reglue_competition.ranking.ranks import cells_that_separate, level_of_a_pair
from reglue_competition.ranking.scored_submissions import Spread, weighted_mean
from tests.reglue_bench.learning_results import Learned, learned
from tests.reglue_bench.made_results import Play, make_result
from tests.reglue_bench.results.test_wide_returns import made
from tests.reglue_bench.test_float_range import WIDE

ONE = [RankedBenchmark("MT10")]
PAIR = Ranking(teams=2)  # each pair is judged at 5 %, as if there were no other team
RETURNS = RankedBenchmark("online:mountain-car", is_rate=False)


def entry(
    team: str, *results: Result, order: float = 0.0, has_failed: bool = False, name: str = ""
) -> ScoredSubmission:
    return ScoredSubmission(
        team=team,
        submission=name or f"{team}-{order:g}",
        order=order,
        results=dict(enumerate(results)),
        has_failed=has_failed,
    )


def played(team: str, rate: float, **more: object) -> ScoredSubmission:
    return entry(team, make_result(replace(Play(label=team, rate=rate), **more)))  # type: ignore[arg-type]


def ranks(
    entries: Sequence[ScoredSubmission], benchmarks: Sequence[RankedBenchmark] = ONE
) -> Mapping[str, int | None]:
    return {each.entry.team: each.rank for each in rank(entries, benchmarks, Comparisons(), PAIR)}


def test_teams_that_are_told_apart_have_ranks_of_their_own_and_others_share_one() -> None:
    entries = [
        played("A", 0.95),
        played("B", 0.94),
        played("C", 0.6),
        played("D", 0.59),
        played("E", 0.1),
    ]
    found = rank(entries, ONE, Comparisons(), PAIR)
    assert {each.entry.team: each.rank for each in found} == {
        "A": 1,
        "B": 1,
        "C": 3,
        "D": 3,
        "E": 5,
    }
    assert [each.rank for each in found] == [1, 1, 3, 3, 5]


@pytest.mark.parametrize(("teams", "level"), [(2, 0.05), (3, 0.05 / 3), (100, 0.05 / 4950)])
def test_all_pairs_of_so_many_teams_share_the_level(teams: int, level: float) -> None:
    assert level_of_a_pair(teams) == pytest.approx(level)
    assert f"p < {level:.1g}," in rule(Ranking(teams=teams))


def test_as_many_cells_as_said_tell_two_teams_apart_four_times_in_five() -> None:
    rng, teams = np.random.default_rng(0), 20
    cells = cells_that_separate(teams, 0.1)
    one, other = (rng.random((2000, cells)) < rate for rate in (0.55, 0.45))
    difference = one.mean(axis=1) - other.mean(axis=1)
    error = np.sqrt((one.var(axis=1) + other.var(axis=1)) / cells)
    widest = -NormalDist().inv_cdf(level_of_a_pair(teams) / 2)
    assert (difference / error > widest).mean() == pytest.approx(0.8, abs=0.03)


def test_more_teams_than_ranks_allow_for_are_told_and_change_none() -> None:
    entries = [played(team, rate) for team, rate in (("A", 0.95), ("B", 0.9), ("C", 0.5))]
    few, many = (rank(entries[:n], ONE, Comparisons(), Ranking(teams=2)) for n in (2, 3))
    assert [each.rank for each in few] == [each.rank for each in many][:2]
    assert "There are 3 teams here" in rule(Ranking(teams=2), 3)
    assert "There are" not in rule(Ranking(teams=3), 3)


def test_ranks_by_score_have_no_ties() -> None:
    """Of two with the same score the earlier is above."""
    same = make_result()
    entries = [
        entry("late", same, order=2.0),
        entry("early", same, order=1.0),
        played("worse", 0.1),
        entry("none", order=3.0),
    ]
    by_score = Ranking(ties="score")
    found = rank(entries, ONE, Comparisons(), by_score)
    assert [(each.entry.team, each.rank) for each in found] == [
        ("early", 1),
        ("late", 2),
        ("worse", 3),
        ("none", None),
    ]
    assert "entered first" in rule(by_score)


def test_independent_benchmarks_vary_less_together_than_each() -> None:
    """Their deviations add as squares, on either side by itself: 3 and 4 make 5."""
    scores: list[Spread] = [(0.5, (0.2, 0.9)), (0.7, (0.3, 1.0))]
    mean, interval = weighted_mean(scores, [1.0, 1.0])
    assert interval is not None
    assert (mean, *interval) == pytest.approx((0.6, 0.6 - 0.5 / 2, 0.6 + 0.5 / 2))
    mean, interval = weighted_mean(scores, [4.0, 3.0])
    assert interval is not None
    assert mean == pytest.approx(4.1 / 7)
    assert interval[0] == pytest.approx(mean - (1.2**2 + 1.2**2) ** 0.5 / 7)
    assert interval[1] == pytest.approx(mean + (1.6**2 + 0.9**2) ** 0.5 / 7)


def test_one_benchmarks_total_is_its_score_interval_and_p_value() -> None:
    one, other = played("A", 0.8), played("B", 0.7)
    benchmarks = [RankedBenchmark("MT10", weight=3.0)]
    score, interval = one.results[0].score.value, one.results[0].interval95
    total, total_interval = one.total(benchmarks)
    assert total == score
    assert total_interval == pytest.approx(interval)
    found = Comparisons().compare(one, other, benchmarks)
    alone = compare(one.results[0], other.results[0])
    assert found.p_value == pytest.approx(alone.p_value)
    assert found.difference == pytest.approx(alone.difference)


def test_benchmarks_count_by_their_weight() -> None:
    good, bad = make_result(Play(rate=2)), make_result(Play(rate=-1))
    benchmarks = [RankedBenchmark("one", weight=3.0), RankedBenchmark("other", weight=1.0)]
    score, interval = entry("A", good, bad).total(benchmarks)
    assert score == pytest.approx(0.75)
    assert interval is not None
    assert 0.74 < interval[0] < 0.75 < interval[1] < 0.76


def test_scores_of_other_units_are_brought_to_one_scale() -> None:
    """A total, its interval and a difference: a return of -150 is half of the way here."""
    rate, returns = make_result(Play(rate=0.5)), with_spread(-170.0, -150.0, -130.0)
    scaled = replace(RETURNS, scale=(-200.0, -100.0))
    one, other = entry("A", rate, returns), entry("B", rate, with_spread(-190.0, -175.0, -160.0))
    score, interval = one.total([ONE[0], scaled])
    alone, of_alone = entry("A", returns).total([scaled])
    assert alone == 0.5
    assert of_alone == pytest.approx((0.3, 0.7))
    assert rate.score.value is not None
    assert score == pytest.approx((rate.score.value + 0.5) / 2)
    assert interval is not None
    assert 0.3 < interval[0] < 0.5 < interval[1] < 0.7
    found = Comparisons().compare(one, other, [ONE[0], scaled])
    assert found.difference == pytest.approx(0.25 / 2)
    raw = Comparisons().compare(entry("A", returns), entry("B", other.results[1]), [RETURNS])
    same = Comparisons().compare(entry("A", returns), entry("B", other.results[1]), [scaled])
    assert same.p_value == pytest.approx(raw.p_value)
    assert same.difference == pytest.approx(raw.difference / 100)


def test_a_void_benchmark_counts_in_no_total_and_no_comparison() -> None:
    good, bad = make_result(Play(rate=2)), make_result(Play(rate=-1))
    benchmarks = [ONE[0], RankedBenchmark("void", weight=9.0, void="its goal cannot be reached")]
    one, other = entry("A", good, bad), entry("B", bad, good)
    assert one.total(benchmarks) == one.total(ONE)
    assert ranks([one, other], benchmarks) == {"A": 1, "B": 2}
    assert entry("A", good).total(benchmarks) == one.total(ONE)  # it need not have been played


def test_two_benchmarks_tell_apart_what_one_does_not() -> None:
    def team(name: str, rate: float) -> ScoredSubmission:
        plays = (make_result(Play(label=name, rate=rate, seed=seed)) for seed in range(8))
        return entry(name, *plays)

    one, other = team("A", 0.85), team("B", 0.8)
    assert ranks([one, other], ONE) == {"A": 1, "B": 1}
    assert ranks([one, other], [RankedBenchmark(f"{n}") for n in range(8)]) == {"A": 1, "B": 2}


@pytest.mark.parametrize("size", [-1e78, -1e200, -1.7e308, 1e-320])
def test_a_team_of_huge_or_tiny_returns_does_not_share_the_first_rank(size: float) -> None:
    def team(name: str, returns: Sequence[float]) -> ScoredSubmission:
        return entry(name, made("multi-task", returns))

    honest = team("honest", [76.0, 77.5, 75.8, 76.7, 78.1, 76.3])
    found = rank([team("other", [size]), honest], [RETURNS], Comparisons(), PAIR)
    assert [(each.entry.team, each.rank) for each in found] == [("honest", 1), ("other", 2)]


@given(st.lists(st.tuples(WIDE, WIDE, WIDE), min_size=2, max_size=2), st.floats(0.1, 10))
def test_totals_and_p_values_of_any_scores_are_numbers(
    spreads: list[tuple[float, float, float]], weight: float
) -> None:
    benchmarks = [RETURNS, replace(RETURNS, weight=weight)]
    teams = [
        entry(name, *(with_spread(*sorted(each)) for each in spreads[:: 1 if name else -1]))
        for name in ("", "other")
    ]
    for each in rank(teams, benchmarks, Comparisons(), PAIR):
        assert np.isfinite([each.score or 0.0, *(each.interval95 or ())]).all()
    found = Comparisons().compare(teams[0], teams[1], benchmarks)
    assert np.isfinite(found.difference)
    assert found.p_value is None or 0 <= found.p_value <= 1


def with_spread(low: float, score: float, high: float) -> Result:
    """Without episodes, so that teams are compared by these alone."""
    result = LEARNED.score_as(PerformanceScore)
    changed = result.model_copy(update={"performance": score, "interval95": (low, high)})
    return LEARNED.model_copy(update={"score": changed, "goals_sha256": f"{score}"})


LEARNED = learned(Learned(runs=2, episodes=4))


def test_an_interval_that_was_cut_is_compared_as_if_it_were_whole() -> None:
    cut, whole = with_spread(1.0, 18.0, 46.0), with_spread(-10.0, 18.0, 46.0)
    other = entry("B", with_spread(1.0, 2.0, 3.0))
    found = [
        Comparisons().compare(entry("A", each), other, [RETURNS]).p_value for each in (cut, whole)
    ]
    assert found[0] == found[1] == pytest.approx(0.263, abs=0.001)
    assert entry("A", cut).total([RETURNS])[1] == (1.0, 46.0)


def test_no_team_ranks_above_one_with_a_higher_score() -> None:
    """C varies so much that nobody is significantly better, but B is above it."""
    made = (
        Learned(label="A", best=-100),
        Learned(label="B", best=-130, seed=1),
        Learned(label="C", best=-180, noise=3000, seed=2),
    )
    a, b, c = (entry(each.label, learned(each)) for each in made)
    assert ranks([a, c], [RETURNS]) == {"A": 1, "C": 1}
    assert ranks([c, b, a], [RETURNS]) == {"A": 1, "B": 2, "C": 2}


def test_results_without_a_ledger_are_told_apart_by_their_intervals() -> None:
    one, other, third = (read_alone(make_result(Play(rate=rate))) for rate in (0.9, 0.5, 0.49))
    entries = [entry("A", one), entry("B", other), entry("C", third)]
    assert ranks(entries) == {"A": 1, "B": 2, "C": 2}


def test_teams_that_played_other_cells_are_told_apart_by_their_intervals() -> None:
    """Each its own: a cell of one is no pair to the cell of that name of the other."""
    own = [played("A", 0.9, plan="aa" * 32), played("B", 0.8, plan="bb" * 32)]
    shared = [played("A", 0.9), played("B", 0.8)]
    apart, paired = (Comparisons().compare(a, b, ONE) for a, b in (own, shared))
    assert (apart.pairs, paired.pairs) == (0, 500)
    assert apart.difference == pytest.approx(paired.difference)
    assert apart.p_value is not None


def read_alone(result: Result) -> Result:
    """As a result.json without its ledger."""
    return Result.model_validate_json(result.model_dump_json(by_alias=True))


def test_what_a_failed_submission_did_not_play_counts_as_failure() -> None:
    begun = make_result(Play(label="B", rate=2, missing=400))
    benchmarks = [RankedBenchmark("one"), RankedBenchmark("other")]
    failed = entry("B", begun, has_failed=True)
    assert failed.total(benchmarks)[0] == pytest.approx(0.1)
    whole = [make_result(Play(label="A", rate=0.5)), make_result(Play(label="A", rate=0.5, seed=3))]
    assert ranks([entry("A", *whole), failed], benchmarks) == {"A": 1, "B": 2}


def test_a_submission_that_lacks_a_score_is_listed_without_a_rank() -> None:
    """Nobody can say what missing returns are worth."""
    entries = [
        entry("A", learned(), has_failed=True),
        entry("B", learned(), learned(Learned(seed=1))),
    ]
    assert ranks(entries, [RETURNS, RETURNS]) == {"B": 1, "A": None}


def test_agents_that_learn_are_told_apart_by_their_runs() -> None:
    fast = learned(Learned(label="A", best=-100))
    slow = learned(Learned(label="B", best=-300, seed=1))
    alike = learned(Learned(label="C", best=-300))  # each run lies as far below A's
    entries = [entry(each.agent.label, each) for each in (slow, alike, fast)]
    assert ranks(entries, [RETURNS]) == {"A": 1, "B": 2, "C": 2}


def test_many_teams_have_the_ranks_that_comparing_them_goal_by_goal_gives() -> None:
    """As they were when each pair's goals were counted anew; with faults, and partial runs."""

    def team(n: int) -> ScoredSubmission:
        made = Play(
            label=f"T{n}",
            rate=0.2 + 0.037 * (7 * n % 20),
            goals=12,
            episodes_per_goal=2,
            faulty=0.1 * (n % 3 == 0),
            missing=17 * (n % 5 == 0),
        )
        other = Learned(label=f"T{n}", best=-100 - 4 * n, seed=n)
        results = make_result(made), learned(other)
        return entry(f"T{n}", *results, order=float(n), has_failed=n % 5 == 0)

    teams = [team(n) for n in range(20)]
    two = [
        RankedBenchmark("MT10", 2.0),
        RankedBenchmark("online:mountain-car", 0.002, is_rate=False),
    ]
    found = [rank(teams, benchmarks, Comparisons(), PAIR) for benchmarks in (ONE, two)]
    order = [[int(each.entry.team[1:]) for each in ranked] for ranked in found]
    assert order == [
        [17, 14, 11, 8, 5, 2, 19, 16, 13, 4, 10, 7, 1, 18, 15, 12, 9, 6, 3, 0],
        [14, 17, 11, 8, 5, 2, 16, 19, 13, 4, 10, 7, 1, 18, 15, 12, 6, 9, 3, 0],
    ]
    assert [[each.rank for each in ranked] for ranked in found] == [
        [1, 1, 1, 3, 4, 5, 6, 6, 7, 7, 8, 9, 10, 14, 15, 15, 15, 15, 15, 20],
        [1, 1, 1, 1, 3, 5, 7, 7, 7, 7, 7, 7, 9, 14, 15, 15, 15, 15, 15, 20],
    ]


def test_a_run_is_read_and_compared_once() -> None:
    compared = Comparisons()
    entries = [played("A", 0.9), played("B", 0.5)]
    before = rank(entries, ONE, compared, PAIR)
    hidden = [replace(e, results={0: e.results[0].with_episodes(())}) for e in entries]
    assert [each.rank for each in rank(hidden, ONE, compared, PAIR)] == [
        each.rank for each in before
    ]
    compared.retain(entries[:1])
    assert compared._units.keys() == {("A-0", 0, "41.5")}


def test_alike_teams_share_a_rank() -> None:
    same = make_result()
    assert ranks([entry("A", same), entry("B", same)]) == {"A": 1, "B": 1}


class Paid(gymnasium.Env[Any, Any]):
    """Pays what the action says, three times."""

    observation_space = gymnasium.spaces.Box(0.0, 1.0, (1,), np.float64)
    action_space = gymnasium.spaces.Discrete(10)

    def reset(self, *, seed: int | None = None, options: object = None) -> Any:
        super().reset(seed=seed)
        self.steps = 0
        return np.zeros(1), {}

    def step(self, action: Any) -> Any:
        self.steps += 1
        return np.zeros(1), float(action), self.steps == 3, False, {}


def paid(team: str, folder: Path, action: int, *, episodes: int = 10) -> ScoredSubmission:
    """A team that always acts alike; an action that is none is its fault."""
    result = evaluate(
        Paid,
        agent=lambda observations: np.full(len(observations), action),
        num_episodes=episodes,
        worst_performance=0.0,
        out=folder / team,
        workers=0,
        raise_faults=False,
    )
    return entry(team, result)


def test_teams_that_all_cells_tell_apart_alike_have_ranks_of_their_own(tmp_path: Path) -> None:
    """Neither varies, and a t-test says nothing: the sign test does."""
    few = tmp_path / "few"
    assert ranks([paid("A", tmp_path, 3), paid("B", tmp_path, 2)], [RETURNS]) == {"A": 1, "B": 2}
    alike = [paid("A", few, 3, episodes=5), paid("B", few, 2, episodes=5)]
    assert ranks(alike, [RETURNS]) == {"A": 1, "B": 1}


def test_a_team_whose_agent_only_fails_shares_no_rank_with_one_that_scores_more(
    tmp_path: Path,
) -> None:
    failing, scoring = paid("A", tmp_path, 10), paid("B", tmp_path, 2)
    assert failing.total([RETURNS]) == (0.0, None)
    assert ranks([failing, scoring], [RETURNS]) == {"B": 1, "A": 2}
    assert ranks([failing, paid("C", tmp_path, 10)], [RETURNS]) == {"A": 1, "C": 1}


def test_runs_that_a_failed_submission_did_not_play_count_as_the_worst() -> None:
    """Else it would have no score, and with it no rank."""
    begun = learned(Learned(label="A", missing=4, fault=-1000.0))
    assert (begun.score.value, begun.interval95) == (None, None)
    failed = with_failed_runs(begun)
    performances = [run.performance for run in failed.score_as(PerformanceScore).runs]
    assert performances.count(-1000.0) == 4
    assert failed.score.value == pytest.approx(np.mean(np.array(performances, float)))
    entries = [entry("A", failed, has_failed=True), entry("B", learned(Learned(label="B")))]
    assert ranks(entries, [RETURNS]) == {"B": 1, "A": 2}
    unknown = with_failed_runs(learned(Learned(missing=4)))
    assert (unknown.score.value, unknown.interval95) == (None, None)
