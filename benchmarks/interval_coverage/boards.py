"""The rate at which a leaderboard of equally good teams calls one better than another."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict
from types import MappingProxyType
from typing import TypeAlias

import numpy as np

from env_adapters import SuiteName
from reglue_bench.float_range import FloatArray
from reglue_bench.plans.plan import Plan
from reglue_bench.results.episodes import EpisodeRow
from reglue_bench.results.facts import AgentIdentity
from reglue_bench.results.result import Result
from reglue_bench.results.scoring import ScoreInputs, result_of
from reglue_bench.runs.ledger import Row, Totals
from reglue_competition.definition import Ranking
from reglue_competition.ranking import Comparisons, RankedBenchmark, ScoredSubmission, rank

Cells: TypeAlias = Callable[[int, np.random.Generator], FloatArray]
"""Draws the results of so many teams on the cells of a phase, shape (teams, CELLS)."""

CELLS = 100
TEAMS = (20, 200)


def false_ranks(
    cells: Cells, teams: int, *, judged_by: str, own: bool, boards: int, seed: int
) -> float:
    """The share of boards on which a team of equally good ones is not the first.

    With `own` each team plays cells of its own, so that nothing is paired.
    """
    rng = np.random.default_rng([seed, teams])
    ranking, wrong = Ranking(teams=teams), 0
    benchmarks = [RankedBenchmark("simulated", is_rate=judged_by == "success")]
    for _ in range(boards):
        entries = [
            _entry(team, values, judged_by, plan_seed=team if own else 0)
            for team, values in enumerate(cells(teams, rng))
        ]
        ranked = rank(entries, benchmarks, Comparisons(), ranking)
        wrong += any(each.rank != 1 for each in ranked)
    return wrong / boards


def _entry(team: int, values: FloatArray, judged_by: str, *, plan_seed: int) -> ScoredSubmission:
    result = _result(f"team {team}", values, judged_by, plan_seed)
    return ScoredSubmission(team=f"{team}", submission=f"{team}", order=team, results={0: result})


def _result(label: str, values: FloatArray, judged_by: str, plan_seed: int) -> Result:
    """The result of a benchmark of one task, whose cells had these values: success, or returns."""
    is_success = judged_by == "success"  # then of as many goals, else of one goal's episodes
    plan = Plan(
        benchmark="simulated",
        procedure="multi-task",
        parameters={"num_episodes": CELLS, "judged_by": judged_by, "reveal_tasks": True},
        seed=plan_seed,
        slots=1,
        suite=SuiteName("simulated", {}),
        variants={"task": CELLS if is_success else 1},
    )
    rows = [
        Row(cell, 0, 0, "ok", is_success and value > 0, 0, value, 5, 0, 0, "")
        for cell, value in enumerate(values.tolist())
    ]
    places = [(cell, 0) if is_success else (0, cell) for cell in range(CELLS)]
    episodes = [
        EpisodeRow(**asdict(row), task="task", variant=variant, repeat=repeat, phase="evaluate")
        for row, (variant, repeat) in zip(rows, places, strict=True)
    ]
    inputs = ScoreInputs(
        plan,
        lambda: rows,
        lambda _unit, _attempt: np.zeros(0),
        agent=AgentIdentity(name=label, label=label),
        totals=Totals(1.0, 1.0, 1.0, 5 * CELLS),
        versions={},
        fresh="process",
    )
    return result_of(inputs).with_episodes(episodes)


def _rates(rate: float) -> Cells:
    """Cells of which some are hard for all."""

    def draw(teams: int, rng: np.random.Generator) -> FloatArray:
        hard, alike = rng.random(CELLS), rng.random((teams, CELLS)) < 0.6
        return (np.where(alike, hard, rng.random((teams, CELLS))) < rate).astype(np.float64)

    return draw


def _returns(teams: int, rng: np.random.Generator) -> FloatArray:
    return rng.normal(0.0, 5.0, CELLS) + rng.normal(100.0, 10.0, (teams, CELLS))


def _skewed(teams: int, rng: np.random.Generator) -> FloatArray:
    return rng.normal(0.0, 1.0, CELLS) + rng.exponential(10.0, (teams, CELLS))


BOARDS: Mapping[str, tuple[Cells, str]] = MappingProxyType(
    {
        "success, half of the cells": (_rates(0.5), "success"),
        "success, nine cells of ten": (_rates(0.9), "success"),
        "returns, as a normal": (_returns, "return"),
        "returns, very skewed (exponential)": (_skewed, "return"),
    }
)
"""Teams' results, and the measure by which they are judged."""
