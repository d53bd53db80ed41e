"""The rate at which ranks are wrong, by simulation with fixed seeds."""

from __future__ import annotations

from dataclasses import asdict, replace
from functools import cache

import numpy as np
import pytest

from reglue_bench.float_range import FloatArray
from reglue_bench.results.episodes import EpisodeRow
from reglue_bench.results.result import Result
from reglue_bench.runs.ledger import Row
from reglue_bench.statistics import intervals95
from reglue_competition.definition import Ranking
from reglue_competition.ranking import Comparisons, RankedBenchmark, ScoredSubmission, rank
from tests.reglue_bench.made_results import Play, make_result
from tests.reglue_bench.toys import corridor_plan, scored

TASK, GOALS = "reach-v3", 100
ONE = [RankedBenchmark(TASK)]
RETURNS = [RankedBenchmark("walk", is_rate=False)]


@cache
def _base() -> Result:
    return make_result(Play(tasks=[TASK], goals=GOALS))


def result_of(won: FloatArray) -> Result:
    """Of an agent that won these goals, shape (GOALS,) of 0 and 1."""
    rate = float(won.mean())
    score = {
        "mean_success_rate": rate,
        "success_rate_per_task": {TASK: rate},
        "intervals95": intervals95({TASK: won.tolist()}),
    }
    rows = [replace(row, success=bool(won[row.variant])) for row in _base().episodes]
    base = _base()
    changed = base.score.model_copy(update=score)
    return base.model_copy(update={"score": changed}).with_episodes(rows)


def entry(team: str, won: FloatArray, *, tries: int = 1) -> ScoredSubmission:
    return ScoredSubmission(
        team=team, submission=team, order=0, results={0: result_of(won)}, tries=tries
    )


def ranks(*entries: ScoredSubmission, teams: int = 2) -> dict[str, int | None]:
    ranking = Ranking(teams=teams)
    return {each.entry.team: each.rank for each in rank(entries, ONE, Comparisons(), ranking)}


@pytest.mark.parametrize("tries", [1, 5, 50, 150])
def test_the_best_of_many_tries_of_one_policy_is_seldom_called_better(tries: int) -> None:
    """Than one try of the same policy, in 200 pairs; at most 5 % are wanted, and one more in 20."""
    rng, above = np.random.default_rng(tries), 0
    for _ in range(200):
        won = rng.random((tries + 1, GOALS)) < 0.5
        best = won[1 + won[1:].sum(axis=1).argmax()]
        found = ranks(entry("A", best.astype(float), tries=tries), entry("B", won[0].astype(float)))
        above += found["A"] == 1 and found["B"] == 2
    assert above <= 10


@pytest.mark.parametrize("puppets", [0, 1, 5, 20, 50])
def test_teams_that_add_nothing_leave_a_lead_as_it_is(puppets: int) -> None:
    def won(count: int, seed: int) -> FloatArray:
        goals = np.zeros(GOALS)
        goals[np.random.default_rng(seed).choice(GOALS, count, replace=False)] = 1
        return goals

    teams = [entry(f"puppet {k}", won(60 - k % 3, 10 + k)) for k in range(puppets)]
    found = ranks(entry("A", won(95, 1)), entry("B", won(60, 2)), *teams, teams=50)
    assert (found["A"], found["B"]) == (1, 2)


def test_many_teams_do_not_collapse_into_one_rank() -> None:
    """200 teams of skills from 0.3 to 0.9: what 100 goals can tell apart, if all were equal."""
    rng = np.random.default_rng(0)
    skills = np.linspace(0.3, 0.9, 200)
    teams = [entry(f"{s:.3f}", (rng.random(GOALS) < s).astype(float)) for s in skills]
    found = ranks(*teams, teams=200)
    assert list(found.values()).count(1) < 100
    assert len({*found.values()}) > 10


def of_returns(team: str, returns: FloatArray, *, given_up: int | None = None) -> ScoredSubmission:
    """A team's, of one benchmark of returns; the agent may give an episode up."""
    plan = corridor_plan(
        solved={"walk": [0]}, num_episodes=len(returns), judged_by="return", worst_performance=0.0
    )
    rows = [
        Row(k, 0, 0, "agent_abandoned" if k == given_up else "ok", False, 0, each, 5, 0, 0, "")
        for k, each in enumerate(returns.tolist())
    ]
    episodes = [
        EpisodeRow(**asdict(row), task="walk", variant=0, repeat=row.unit, phase="evaluate")
        for row in rows
    ]
    result = scored(plan, rows, label=team).with_episodes(episodes)
    return ScoredSubmission(team=team, submission=team, order=0, results={0: result})


def test_an_episode_that_is_given_up_does_not_make_a_tie_a_win() -> None:
    """Of 200 pairs of equal policies; the agent gives up the episode that goes worst."""
    rng, above, below = np.random.default_rng(5), 0, 0
    for _ in range(200):
        ours, theirs = rng.exponential(10.0, (2, 100))
        entries = of_returns("A", ours, given_up=int(ours.argmin())), of_returns("B", theirs)
        found = {
            each.entry.team: each.rank
            for each in rank(entries, RETURNS, Comparisons(), Ranking(teams=2))
        }
        above += (found["A"], found["B"]) == (1, 2)
        below += (found["A"], found["B"]) == (2, 1)
    assert above <= 10
    assert below <= 10


def test_one_score_without_an_interval_is_not_taken_for_known() -> None:
    """Its ledger is not here, and how it varies is not known."""
    rng = np.random.default_rng(0)
    entries = [of_returns(team, rng.exponential(10.0, 100)) for team in "AB"]
    for each in entries:
        each.results[0]._episodes = None
    result = entries[0].results[0]
    score = result.score.model_copy(update={"intervals95": None})
    unknown = result.model_copy(update={"score": score})
    entries[0] = replace(entries[0], results={0: unknown})
    assert Comparisons().compare(entries[0], entries[1], RETURNS).p_value is None


def test_what_is_missing_is_filled_in_with_the_worst() -> None:
    """In the interval and in the pairs: as if that had been the return."""
    returns = np.random.default_rng(3).exponential(10.0, 50)
    filled = returns.copy()
    filled[7] = 0.0
    lost, whole = of_returns("A", returns, given_up=7), of_returns("B", filled)
    assert lost.total(RETURNS) == whole.total(RETURNS)
    other = of_returns("C", np.random.default_rng(4).exponential(10.0, 50))
    p_values = [Comparisons().compare(each, other, RETURNS).p_value for each in (lost, whole)]
    assert p_values[0] is not None
    assert p_values[0] == pytest.approx(p_values[1])
